package main

import (
	"fmt"
	"os"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/measure"
	"github.com/csiglab/csiglab/reports"
)

func main() {
	f, err := runfolder.OpenKept(os.Args[1])
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	r, err := reports.Read(f, measure.Meaning)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for ext, write := range map[string]func() error{
		"json": func() error { o, _ := os.Create(os.Args[2] + ".json"); return r.WriteJSON(o) },
		"html": func() error { o, _ := os.Create(os.Args[2] + ".html"); return r.WriteHTML(o) },
		"md":   func() error { o, _ := os.Create(os.Args[2] + ".md"); return r.WriteMarkdown(o) },
	} {
		if err := write(); err != nil {
			fmt.Println(ext, err)
			os.Exit(1)
		}
	}
	for _, s := range r.Story() {
		fmt.Println("  ", s)
	}
}
