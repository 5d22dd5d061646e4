package application_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
	"github.com/csiglab/csiglab/units"
)

// The hosts of a run win over what the machine says of their names; the rest stays.
func TestHosts(t *testing.T) {
	names := application.Names{0: "h0", 300: "h300"}
	const own = "10.0.0.1\th0\nfd00:c51c::1\th0-v6\n10.0.1.45\th300\nfd00:c51c::12d\th300-v6\n"
	for base, want := range map[string]string{
		"":                       own + "127.0.0.1\tlocalhost\n",
		"127.0.0.1 localhost vm": own + "127.0.0.1\tlocalhost vm\n",
		"# names\n::1 localhost ip6-localhost # IPv6\n192.0.2.1 h0 router\n192.0.2.2\tH300\n\n192.0.2.3\n": own + "::1\tlocalhost ip6-localhost\n192.0.2.1\trouter\n",
	} {
		if diff := cmp.Diff(want, string(names.Hosts([]byte(base)))); diff != "" {
			t.Errorf("%q (-want +got)\n%s", base, diff)
		}
	}
}

// Programs resolve the names of the run's hosts as those of a network, by the libraries
// of C and Go; the machine's own files stay as they are.
func TestNamesResolve(t *testing.T) {
	files := []string{"/etc/hosts", "/etc/nsswitch.conf"}
	before := make([]string, len(files))
	for i, name := range files {
		text, _ := os.ReadFile(name) // it may not be there
		before[i] = string(text)
	}
	if before[0] == "" {
		t.Skip("this machine has no /etc/hosts, over which one could be mounted")
	}
	local, err := application.NewLocal(map[int]*os.File{0: space(t)}, application.Names{0: "h0", 3: "h3"})
	if err != nil {
		t.Skip("no namespace of processes: ", err)
	}
	dir := t.TempDir()
	programs := []application.Program{
		{Args: shell("getent hosts h3; getent hosts h3-v6; hostname; getent hosts h4 || echo no h4")},
		{Args: []string{os.Args[0], "test-resolve", "h3", "h0"}},
	}
	for i := range programs {
		programs[i].Name, programs[i].Output = "h0", filepath.Join(dir, "p", string(rune('0'+i)))
	}
	s := application.NewSet(programs, wall.Clock{Dilation: 1}, units.Never, local)
	t.Cleanup(s.Stop)
	s.Begin(wall.Monotonic())
	done(t, s)
	for i, want := range []string{
		"10.0.0.4        h3\nfd00:c51c::4    h3-v6\nh0\nno h4\n",
		"[10.0.0.4] <nil>\n[10.0.0.1] <nil>\n",
	} {
		got, err := os.ReadFile(programs[i].Output)
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("program %d: %v (-want +got)\n%s", i, err, diff)
		}
	}
	for i, name := range files {
		if text, _ := os.ReadFile(name); string(text) != before[i] {
			t.Errorf("%s of the machine has changed to %q", name, text)
		}
	}
}
