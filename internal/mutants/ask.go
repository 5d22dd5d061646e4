package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// suite runs the suite standard with one seed, strictly: the entries that the edit names
// first, and the whole of it if they notice nothing. It returns the entries that differ.
func (b *bench) suite(ctx context.Context, e *Edit) (by string, err error) {
	var only []string
	for _, entry := range e.Entries {
		only = append(only, "--only", entry)
	}
	for _, selection := range [][]string{only, nil} {
		if by, err = b.regress(ctx, selection); by != "" || err != nil {
			return by, err
		}
	}
	return "", nil
}

func (b *bench) regress(ctx context.Context, selection []string) (by string, err error) {
	folder := b.path("verdict")
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	args := append([]string{"regress", "standard", "--seeds", "1", "--strict", "--baseline", b.baseline(), "--candidate", "program:" + b.path("mutant"), "--out", folder}, selection...)
	text, code, err := b.call(ctx, b.path("csiglab"), args...)
	switch {
	case err != nil:
		return "", err
	case code == 0:
		return "", nil
	case code == -1:
		return "does not end", nil
	case code != 1 && code != 3:
		return "", fmt.Errorf("exit code %d: %s", code, text)
	}
	data, err := os.ReadFile(folder + "/verdict.json")
	if err != nil {
		return "", fmt.Errorf("exit code %d: %s", code, text)
	}
	var d struct { // of verdict.json
		Experiments []struct {
			Name, Variant, Outcome string
			Identical              bool
		}
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return "", err
	}
	var names []string
	for _, x := range d.Experiments {
		name := x.Name
		if x.Variant != "" {
			name += "/" + x.Variant
		}
		switch {
		case x.Outcome == "invalid":
			name += " (invalid)"
		case x.Identical:
			continue
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return "", errors.New("the suite fails, and no entry differs: " + text)
	}
	return shortened(names), nil
}

// selftest returns the checks that fail.
func (b *bench) selftest(ctx context.Context) (by string, err error) {
	text, code, err := b.call(ctx, b.path("mutant"), "selftest", "--json")
	switch {
	case err != nil || code == 0:
		return "", err
	case code == -1:
		return "does not end", nil
	case code != 1 && code != 3:
		return fmt.Sprintf("exit code %d", code), nil
	}
	var report struct {
		Checks []struct{ Name, Outcome string }
	}
	if begin := strings.Index(text, "\n{"); begin >= 0 {
		json.NewDecoder(strings.NewReader(text[begin:])).Decode(&report) // without it the exit code counts
	}
	var names []string
	for _, c := range report.Checks {
		if c.Outcome == "failed" || c.Outcome == "broken" {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("exit code %d", code), nil
	}
	return shortened(names), nil
}

// packages returns the packages whose unit tests are asked: that of the edit, then those in
// nodes/ and workloads/ that import it, or whose tests do. Their tests pass without the edit.
func (b *bench) packages(ctx context.Context, e *Edit, asked string) ([]string, error) {
	if asked != askUnits {
		return nil, nil
	}
	text, code, err := b.call(ctx, "go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}{{range .TestImports}} {{.}}{{end}}{{range .XTestImports}} {{.}}{{end}}`, "./nodes/...", "./workloads/...")
	if err == nil && code != 0 {
		err = fmt.Errorf("go list: %s", text)
	}
	if err != nil {
		return nil, err
	}
	var own string
	var importing []string
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if strings.HasSuffix(words[0], "/"+e.folder()) {
			own = words[0]
		}
	}
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); words[0] != own && slices.Contains(words[1:], own) {
			importing = append(importing, words[0])
		}
	}
	return append([]string{own}, importing...), nil
}

// units returns the packages whose tests fail: the edit's own, or else those that import it.
func (b *bench) units(ctx context.Context, packages []string) (by string, err error) {
	for _, some := range [][]string{packages[:1], packages[1:]} {
		if len(some) == 0 {
			continue
		}
		text, code, err := b.call(ctx, "go", append([]string{"test", "-timeout", "150s"}, some...)...)
		switch {
		case err != nil:
			return "", err
		case code == 0:
			continue
		case strings.Contains(text, "[build failed]") || strings.Contains(text, "[setup failed]"):
			return "", errors.New(text)
		}
		var names []string
		for line := range strings.Lines(text) {
			if words := strings.Fields(line); len(words) > 1 && words[0] == "FAIL" {
				_, name, _ := strings.Cut(words[1], "csiglab/csiglab/")
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			return fmt.Sprintf("exit code %d", code), nil
		}
		return shortened(names), nil
	}
	return "", nil
}

// shortened names the first of several.
func shortened(names []string) string {
	if more := len(names) - 2; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:2], ", "), more)
	}
	return strings.Join(names, ", ")
}
