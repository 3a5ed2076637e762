"""The use cases behind the commands of nightshift, among them the stages of a night."""
