"""What several estimators share; imports none of them."""
