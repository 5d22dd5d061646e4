package main

func newLab() lab { return lab{} }
