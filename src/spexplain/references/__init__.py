"""Reference clusterings that scikit-learn lacks."""
