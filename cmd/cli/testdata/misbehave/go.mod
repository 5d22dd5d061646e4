module example.com/misbehave

go 1.26.0
