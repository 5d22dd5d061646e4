module github.com/csiglab/csiglab

go 1.26
