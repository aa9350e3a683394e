"""Networks: a body of hidden layers and one or more heads, which are added as tasks arrive."""
