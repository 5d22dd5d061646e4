// Package dashboards has csiglab's dashboards for Grafana, as the files of classic JSON
// that anyone can import by hand. They are made from boards_test.go; package grafana brings
// them to a server.
package dashboards

import (
	"embed"
	"encoding/json"
	"fmt"
)

//go:generate go test . -run TestFiles -update

//go:embed csiglab-*.json
var files embed.FS

// Dashboard is one dashboard.
type Dashboard struct {
	UID   string // stable, such as csiglab-fabric
	Title string
	File  string // its name, UID.json
	JSON  []byte // the caller must not change it
}

// All returns the dashboards, ordered by their UIDs.
func All() []Dashboard {
	list, err := read()
	if err != nil {
		panic("dashboards: " + err.Error()) // the files are part of the program; TestFiles reads them
	}
	return list
}

func read() (list []Dashboard, err error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("embedded files: %w", err)
	}
	for _, e := range entries {
		text, err := files.ReadFile(e.Name())
		if err != nil {
			return nil, fmt.Errorf("embedded file: %w", err)
		}
		var head struct{ UID, Title string }
		if err := json.Unmarshal(text, &head); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		list = append(list, Dashboard{UID: head.UID, Title: head.Title, File: e.Name(), JSON: text})
	}
	return list, nil
}
