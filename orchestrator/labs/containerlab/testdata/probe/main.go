// Command probe stands in for csig-switch and csig-host in tests. It writes what
// it may do into the file that it is given and waits to be killed; given
// "fail", it fails.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	if os.Args[1] == "fail" {
		fmt.Fprintln(os.Stderr, "no such mode")
		os.Exit(7)
	}
	report := map[string]string{"args": strings.Join(os.Args[1:], "|"), "env": os.Getenv("PROBE"), "root": "written"}
	if err := os.WriteFile("/written", nil, 0o600); err != nil {
		report["root"] = err.Error()
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(status)) {
		if name, value, _ := strings.Cut(line, ":"); strings.HasPrefix(name, "Cap") || name == "NoNewPrivs" {
			report[name] = strings.TrimSpace(value)
		}
	}
	text, err := json.Marshal(report)
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(os.Args[1], text, 0o600); err != nil {
		panic(err)
	}
	for {
		time.Sleep(time.Hour)
	}
}
