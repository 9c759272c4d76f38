"""What users bring: tables and labels, checked once, wherever their values lie."""
