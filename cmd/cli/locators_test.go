package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/experiments"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// sharedByThreeFlow are the compact locators that ports of three-flow share.
const sharedByThreeFlow = `locators of csig: 40 switch ports have 10 locators; 36 of the ports share theirs with others
      3  tor0-agg0 tor1-agg0 tor2-agg1 tor3-agg1 tor4-agg2 tor5-agg2 and 2 more
      9  tor0-h0 tor1-h2 tor2-h4 tor3-h6 tor4-h8 tor5-h10 and 2 more
     10  tor0-h1 tor1-h3 tor2-h5 tor3-h7 tor4-h9 tor5-h11 and 2 more
     19  agg0-core0 agg1-core0 agg2-core0 agg3-core0
     25  agg0-tor0 agg1-tor2 agg2-tor4 agg3-tor6
     26  agg0-tor1 agg1-tor3 agg2-tor5 agg3-tor7
  each port has a locator of its own with csig.locators: registry
`

// Shared locators are a fact that validate, the manifest and the report list, with the
// setting that avoids them. They are no note: nothing in three-flow names ports by them.
func TestLocatorsOfThreeFlow(t *testing.T) {
	checkout.SkipSlowRace(t)
	for _, scheme := range []string{"structured", "registry"} {
		command := func(args ...string) string {
			t.Helper()
			var stdout, stderr bytes.Buffer
			if code := execute(t.Context(), command.Linked{}, newWork(command.Linked{}), args, nil, &stdout, &stderr); code != command.ExitOK || len(noteLines(stderr.String())) > 0 {
				t.Fatalf("%q: exit %d, %s", args, code, stderr.String())
			}
			return stdout.String()
		}
		set := []string{"--set", "csig.locators=" + scheme, "--seeds", "1"}
		shared := scheme == "structured"
		text := command(append([]string{"validate", "three-flow"}, set...)...)
		if strings.HasSuffix(text, sharedByThreeFlow) != shared || strings.Contains(text, "locator") != shared {
			t.Errorf("%s: validate prints\n%s", scheme, text)
		}
		var check struct{ Locators []experiments.SharedLocators }
		if err := json.Unmarshal([]byte(command(append([]string{"validate", "three-flow", "--json"}, set...)...)), &check); err != nil {
			t.Fatal(err)
		}
		if shared && (len(check.Locators) != 1 || check.Locators[0].Sharing != 36 || len(check.Locators[0].Locators[0].Ports) != 8) || !shared && check.Locators != nil {
			t.Errorf("%s: validate --json has %+v", scheme, check.Locators)
		}
		folder := filepath.Join(t.TempDir(), "run")
		command(append([]string{"run", "three-flow", "--out", folder}, set...)...)
		f, err := runfolder.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range f.Manifest.Variants {
			ports := 0
			if v.Locators != nil {
				for _, l := range v.Locators.Locators {
					ports += len(l.Ports)
				}
			}
			if want := map[string]int{"baseline": 0, "csig": 40, "csig-wide": 40}[v.Name]; ports != want {
				t.Errorf("%s: the manifest has locators of %d ports in %s, want %d", scheme, ports, v.Name, want)
			}
		}
		page, err := os.ReadFile(filepath.Join(folder, runfolder.ReportFile))
		if err != nil {
			t.Fatal(err)
		}
		for form, text := range map[string]string{"HTML": string(page), "Markdown": command("report", folder, "--markdown")} {
			for _, want := range []string{"Shared locators", "tor0-agg0, tor1-agg0, tor2-agg1", "agg0-tor1, agg1-tor3, agg2-tor5 and agg3-tor7", "Each port has a locator of its own with csig.locators: registry"} {
				if strings.Contains(text, want) != shared {
					t.Errorf("%s: the %s report has %q: %v, want %v", scheme, form, want, !shared, shared)
				}
			}
		}
	}
}
