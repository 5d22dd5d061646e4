module example.com/sumtrim

go 1.26.0
