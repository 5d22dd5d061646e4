package cli

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/conformance"
	"github.com/csiglab/csiglab/reports/junit"
)

// csiglab's own machines keep all rules, and the results are written in all their forms.
func TestConformance(t *testing.T) {
	dir := t.TempDir()
	xmlFile, page := filepath.Join(dir, "junit.xml"), filepath.Join(dir, "page.html")
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "conformance", "vectors", "--junit", xmlFile, "--page", page)
	if code != command.ExitOK || !strings.Contains(stdout, " 0 fail\n") || stderr != "" {
		t.Fatalf("exit %d, said %q:\n%s", code, stderr, stdout)
	}
	data, err := os.ReadFile(xmlFile)
	if err != nil {
		t.Fatal(err)
	}
	var d junit.Document
	if err := xml.Unmarshal(data, &d); err != nil || len(d.Suites) != len(conformance.Rules) {
		t.Errorf("%d suites, %v; want one for each of %d rules", len(d.Suites), err, len(conformance.Rules))
	}
	if html, err := os.ReadFile(page); err != nil || !strings.Contains(string(html), "Rules of the standard") {
		t.Errorf("page of %d bytes, %v", len(html), err)
	}
}

// A device that fails, does not answer or is no program has its exit code.
func TestConformanceFails(t *testing.T) {
	for _, c := range []struct {
		args         []string
		code         int
		stdout, told string
	}{
		{[]string{"--device", `sh -c 'while read l; do v=${l#*:\"}; echo "{\"vector\": \"${v%%\"*}\"}"; done'`, "--only", "CSIG-UPD-03/abw"}, command.ExitFailed, "failed: CSIG-UPD-03\n", ""},
		{[]string{"--device", "true", "--only", "CSIG-UPD-03"}, command.ExitInfrastructure, "error: the device does not answer", ""},
		{[]string{"--device", " "}, command.ExitUsage, "", "--device is empty"},
		{[]string{"--only", "CSIG-NO"}, command.ExitUsage, "", `"CSIG-NO" names no rule and no vector`},
		{[]string{"--junit", filepath.Join(t.TempDir(), "none", "x.xml"), "--only", "CSIG-UPD-03"}, command.ExitUsage, "", "--junit "},
	} {
		code, stdout, stderr := csiglab(&fakeLab{}, nil, append([]string{"conformance", "vectors"}, c.args...)...)
		if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.told) {
			t.Errorf("%q: exit %d, want %d; said %q:\n%s", c.args, code, c.code, stderr, stdout)
		}
	}
}

// The vectors are written once, into a new folder.
func TestConformanceWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vectors")
	for _, want := range []int{command.ExitOK, command.ExitUsage} {
		if code, stdout, stderr := csiglab(&fakeLab{}, nil, "conformance", "vectors", "--write", dir); code != want || stdout != "" {
			t.Errorf("exit %d, want %d: %s %s", code, want, stdout, stderr)
		}
	}
	files, err := conformance.Shipped()
	entries, _ := os.ReadDir(dir)
	if err != nil || len(entries) != len(files) {
		t.Errorf("%d files, want %d, %v", len(entries), len(files), err)
	}
	if code, _, stderr := csiglab(&fakeLab{}, nil, "conformance", "vectors", "--write", dir+"2", "--only", "CSIG-UPD"); code != command.ExitUsage || !strings.Contains(stderr, "excludes") {
		t.Errorf("exit %d, said %q", code, stderr)
	}
}

func TestConformanceRules(t *testing.T) {
	code, stdout, _ := csiglab(&fakeLab{}, nil, "conformance", "rules")
	if n := strings.Count(stdout, "\n"); code != command.ExitOK || n != len(conformance.Rules) {
		t.Errorf("exit %d, %d lines for %d rules", code, n, len(conformance.Rules))
	}
	var rules []conformance.Rule
	code, stdout, _ = csiglab(&fakeLab{}, nil, "conformance", "rules", "--json")
	if err := json.Unmarshal([]byte(stdout), &rules); err != nil || code != command.ExitOK || len(rules) != len(conformance.Rules) {
		t.Errorf("exit %d, %d rules, %v", code, len(rules), err)
	}
}

// A setup that is printed can be read; wrong flags and setups are told before any frame is sent.
func TestConformanceSwitch(t *testing.T) {
	base := []string{"conformance", "switch", "--ports", "no1,no2,no3"}
	code, printed, stderr := csiglab(&fakeLab{}, nil, append(base, "--rate", "1Gbps", "--print-setup")...)
	if code != command.ExitOK || stderr != "" {
		t.Fatalf("exit %d, said %q", code, stderr)
	}
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	setup := file("setup.json", printed)
	if code, again, _ := csiglab(&fakeLab{}, nil, append(base, "--setup", setup, "--print-setup")...); code != command.ExitOK || again != printed {
		t.Errorf("exit %d; another setup: %s", code, again)
	}
	for _, c := range []struct {
		told string
		args []string
	}{
		{"no interface no1", []string{"--setup", setup}},
		{"either --rate or --setup", nil},
		{"either --rate or --setup", []string{"--rate", "1Gbps", "--setup", setup}},
		{"--rate 1kbps: 1Mbps or more", []string{"--rate", "1kbps"}},
		{"2 interfaces, and the setup has 3 ports", []string{"--setup", setup, "--ports", "no1,no2"}},
		{"3 ports or more", []string{"--rate", "1Gbps", "--ports", "no1,no2"}},
		{"--tolerance 0.5", []string{"--rate", "1Gbps", "--tolerance", "0.5"}},
		{"--macs names 1 addresses", []string{"--rate", "1Gbps", "--macs", "02:00:00:00:00:00"}},
		{"is no MAC address of one station", []string{"--rate", "1Gbps", "--macs", "02:00:00:00:00:00,ff:ff:ff:ff:ff:ff,x"}},
		{"unknown field", []string{"--setup", file("wrong.json", strings.Replace(printed, "dialect", "dialekt", 1))}},
		{"step 3 must be a power of two", []string{"--setup", file("step.json", strings.Replace(printed, `"step": 1`, `"step": 3`, 1))}},
	} {
		args := base
		if len(c.args) > 2 && c.args[2] == "--ports" { // a list that is given twice adds up
			args = base[:2]
		}
		if code, stdout, stderr := csiglab(&fakeLab{}, nil, append(args[:len(args):len(args)], c.args...)...); code != command.ExitUsage || stdout != "" || !strings.Contains(stderr, c.told) {
			t.Errorf("%q: exit %d, said %q, want %q", c.args, code, stderr, c.told)
		}
	}
}
