"""The flags of kt-datagen that have a file of their own."""
