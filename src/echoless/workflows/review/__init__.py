"""Review by a person: what there is to decide, the answers, and the plan they make."""
