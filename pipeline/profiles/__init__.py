"""CPU profiles as text: sampled call stacks, and flame graphs made of them."""
