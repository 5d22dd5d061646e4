package regression

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
)

// Files returns a verdict in all its forms, as its folder has them.
func Files(d *verdict.Document) ([]verdict.File, error) {
	data, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, err
	}
	var html, junit bytes.Buffer
	if err := errors.Join(HTML(&html, d), JUnit(&junit, d)); err != nil {
		return nil, err
	}
	return []verdict.File{
		{Name: verdict.FileName, Data: append(data, '\n')}, {Name: "verdict.md", Data: []byte(Markdown(d))},
		{Name: "verdict.html", Data: html.Bytes()}, {Name: "junit.xml", Data: junit.Bytes()},
	}, nil
}
