"""What each verb does, without a command line: the stages of a night, alone and in order."""
