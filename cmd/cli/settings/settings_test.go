package settings_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/cmd/cli/settings"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// samples are four right values of each setting: of its flag, of its variable, of the
// folder's file and of the user's.
var samples = map[string][4]string{
	"runs": {"a", "b", "c", "d"}, "out": {"a", "b"}, "parallel": {"1", "2", "3", "4"}, "processes": {"one", "node", "switches", "one"}, "payload": {"elide", "full"},
	"runtime": {"inproc", "netns", "containerlab", "kubernetes"}, "list": {"a", "b", "c", "d"}, "docker-host": {"unix:///a", "tcp://b", "unix:///c", "unix:///d"},
	"cluster-context": {"a", "b", "c", "d"}, "cluster-namespace": {"a", "b", "c", "d"}, "cluster-image": {"a:1", "b:1", "c:1", "d:1"}, "listen": {"a:1", "b:1", "c:1", "d:1"},
	"token-file": {"a", "b", "c", "d"}, "grafana-url": {"http://a", "http://b", "http://c", "https://d"}, "grafana-token-file": {"a", "b", "c", "d"},
}

// home is a user's folder and a working directory of a test, and their environment.
func home(t *testing.T) (user string, env []string) {
	t.Helper()
	t.Chdir(t.TempDir())
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "csiglab"), 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "csiglab", "config.yaml"), []string{"HOME=/home/me", "XDG_CONFIG_HOME=" + dir}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPrecedence takes one layer after the other away from each setting.
func TestPrecedence(t *testing.T) {
	for _, s := range settings.All() {
		t.Run(s.Key, func(t *testing.T) {
			user, env := home(t)
			sample, ok := samples[s.Key]
			if !ok {
				t.Fatal("no samples")
			}
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			flags.String("flag", "x", "")
			flags.Set("flag", sample[0])
			r := settings.Request{Settings: settings.All(), Env: append(env, s.Variable+"="+sample[1]), Flag: func(of settings.Setting) *pflag.Flag {
				if of.Key != s.Key {
					return nil
				}
				return flags.Lookup("flag")
			}}
			if !s.OneRun {
				write(t, settings.FolderFile, "# mine\n"+s.Key+": "+sample[2]+"\n")
				write(t, user, "\n\n"+s.Key+": "+sample[3]+"\n")
			}
			check := func(want settings.Value) {
				t.Helper()
				values, notes, err := r.Load()
				if err != nil || len(notes) > 0 {
					t.Fatal(err, notes)
				}
				got := values[s.Key]
				if want.From == settings.File && strings.HasPrefix(got.Text, "/") && len(want.Text) == 1 { // a path
					got.Text = filepath.Base(got.Text)
				}
				if diff := cmp.Diff(got, want); diff != "" {
					t.Errorf("-got +want:\n%s", diff)
				}
			}
			check(settings.Value{Text: sample[0], From: settings.Flag, At: "--flag"})
			r.Flag = nil
			check(settings.Value{Text: sample[1], From: settings.Variable, At: s.Variable})
			r.Env = append(env, s.Variable+"=")
			if !s.OneRun {
				check(settings.Value{Text: sample[2], From: settings.File, At: "csiglab.yaml:2", Folder: true})
				r.NoFiles = true
				check(settings.Value{Text: s.Default, From: settings.Default})
				r.NoFiles = false
				os.Remove(settings.FolderFile)
				check(settings.Value{Text: sample[3], From: settings.File, At: user + ":3"})
				os.Remove(user)
			}
			check(settings.Value{Text: s.Default, From: settings.Default})
		})
	}
}

// Paths in a file are relative to the file, and may begin with the user's folder.
func TestPaths(t *testing.T) {
	user, env := home(t)
	write(t, user, "runs: r\nlist: ~/l\ntoken-file: /t\n")
	write(t, settings.FolderFile, "grafana-token-file: ../t\n")
	values, _, err := settings.Request{Settings: settings.All(), Env: env}.Load()
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"runs": filepath.Join(filepath.Dir(user), "r"), "list": "/home/me/l", "token-file": "/t", "grafana-token-file": "../t"} {
		if got := values[key].Text; got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	for _, c := range []struct{ env, want string }{
		{"XDG_CONFIG_HOME=/x HOME=/h", "/x/csiglab/config.yaml"}, {"XDG_CONFIG_HOME=x HOME=/h", "/h/.config/csiglab/config.yaml"}, {"HOME=", ""}, {"", ""},
	} {
		if got := settings.UserFile(strings.Fields(c.env)); got != c.want {
			t.Errorf("%q: %q, want %q", c.env, got, c.want)
		}
	}
}

const ofExperiment = "belongs to the experiment"

func TestStrict(t *testing.T) {
	_, env := home(t)
	for _, c := range []struct{ text, want string }{
		{"lisen: :9", `csiglab.yaml:1:1: lisen: unknown setting (did you mean "listen"?)`},
		{"\nListen: :9", `csiglab.yaml:2:1: Listen: unknown setting (did you mean "listen"?)`},
		{"context: a", `context: unknown setting (did you mean "cluster-context"?)`},
		{"colour: red", "colour: unknown setting; known: runs parallel processes "},
		{"parallel: 2\nlisten: :1\nparallel: 3", "csiglab.yaml:3:1: parallel: the key is given twice; the first is in line 1"},
		{"parallel: many", `csiglab.yaml:1:1: parallel: "many": want a whole number from 1`},
		{"parallel: 0", "want a whole number from 1"},
		{"parallel: -1", "want a whole number from 1"},
		{"parallel: 1.5", "want a whole number from 1"},
		{`parallel: "2"`, `parallel: "2": want a whole number, got text`},
		{"parallel: [2]", "parallel: want a single value, got a list"},
		{"parallel: {n: 2}", "parallel: want a single value, got a mapping"},
		{"parallel:", "parallel: want a single value, got nothing"},
		{"listen: 9090", "listen: want text, got 9090; if it is meant, write it in quotes"},
		{"cluster-namespace: true", "want text, got true"},
		{"listen: localhost", "want an address and a port"},
		{`cluster-image: "a b"`, "want a text without blanks"},
		{`runs: ""`, "want the name of a file or a folder"},
		{"runtime: netsn", `runtime: "netsn": want inproc, netns, containerlab or kubernetes (did you mean "netns"?)`},
		{"processes: on", `(did you mean "one"?)`},
		{"docker-host: tcp://10.0.0.1:2375", "want a socket of this machine"},
		{"grafana-url: localhost:3000", "want an address, such as http://localhost:3000"},
		{"grafana-token: glsa_x", "grafana-token: a secret is a file, never a value: put it into a file that only you can read, and name the file by grafana-token-file"},
		{"token: x", "name the file by token-file or grafana-token-file"},
		{"grafana_password: x", "a secret is a file, never a value"},
		{"token_file: x", `token_file: unknown setting (did you mean "token-file"?)`},
		{"hosts.cc: nscc", "hosts.cc: " + ofExperiment},
		{"hosts: {cc: nscc}", "hosts: " + ofExperiment},
		{"seeds: [1]", "seeds: " + ofExperiment},
		{"seed: 1", "seed: " + ofExperiment},
		{"clock: wall", "clock: " + ofExperiment},
		{"links.mtu: 9kB", "links.mtu: " + ofExperiment},
		{"variants: {}", "variants: " + ofExperiment},
		{"out: runs/x", `out: is of one run, and --out or CSIGLAB_OUT names it; runs is the folder of all (did you mean "runs"?)`},
		{"payload: elide", "payload: is of one run"},
		{"- listen", "csiglab.yaml:1:3: want keys and values"},
		{"a: 1\n---\nb: 2", "csiglab.yaml:3:1: a second document"},
		{"listen: \"", "not valid YAML"},
		{"\tlisten: a", "begins with a tab"},
	} {
		write(t, settings.FolderFile, c.text+"\n")
		_, _, err := settings.Request{Env: env}.Load() // whatever the command uses
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
	for _, text := range []string{"", "\n# listen: x\n", "listen: \":9\"\n", "cluster-namespace: '12'\n"} {
		write(t, settings.FolderFile, text)
		if _, _, err := (settings.Request{Env: env}).Load(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	os.Remove(settings.FolderFile)
	for variable, want := range map[string]string{
		"CSIGLAB_LISTEN=9090": `environment variable CSIGLAB_LISTEN: "9090": want an address and a port`, "CSIGLAB_PROCESSES=on": `did you mean "one"?`,
		"CSIGLAB_PARALLEL=many": `environment variable CSIGLAB_PARALLEL: "many": want a whole number`, "CSIGLAB_GRAFANA_URL=http://me:secret@x": `"http://me:xxxxx@x": want an address without a password`,
	} {
		if _, _, err := (settings.Request{Settings: settings.All(), Env: []string{variable}}).Load(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", variable, err, want)
		}
	}
}

// A file that is none, or a bomb, is refused at once. That of another user is left out.
func TestHostile(t *testing.T) {
	_, env := home(t)
	bytes := func(text string, n int) func(string) error {
		return func(name string) error { return os.WriteFile(name, []byte(strings.Repeat(text, n)), 0o600) }
	}
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x]\n")
	for i := range 100 {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), ", "))
	}
	for name, c := range map[string]struct {
		make func(name string) error
		want string
	}{
		"pipe":     {func(name string) error { return syscall.Mkfifo(name, 0o600) }, "not a regular file, but a named pipe"},
		"folder":   {func(name string) error { return os.Mkdir(name, 0o755) }, "not a regular file, but a folder"},
		"device":   {func(name string) error { return os.Symlink("/dev/full", name) }, ""},
		"loop":     {func(name string) error { return os.Symlink(name, name) }, "too many levels of symbolic links"},
		"huge":     {func(name string) error { return errFirst(os.WriteFile(name, nil, 0o600), os.Truncate(name, 1<<40)) }, "the most is 16384"},
		"binary":   {bytes("\x7fELF\x00\x01\xff", 1000), "a zero byte"},
		"deep":     {bytes("[", 16000), "nested more than 100 levels deep"},
		"deep map": {bytes("{a: ", 4000), "nested more than 100 levels deep"},
		"keys":     {bytes("? a\n", 4000), ""},
		"bomb":     {bytes(bomb.String(), 1), "the anchor of YAML is not used here"},
		"quotes":   {bytes(`"`, 16000), ""},
		"merge":    {bytes("<<: *x\n", 1), ""},
	} {
		if err := c.make(settings.FolderFile); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, notes, err := settings.Request{Env: env}.Load()
		// Milliseconds, but the machine may be busy.
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		if left := name == "device" && len(notes) == 1; !left && (err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 20_000) { // everybody may write in the device
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		os.Remove(settings.FolderFile)
	}
	foreign := func(what string) {
		t.Helper()
		values, notes, err := settings.Request{Settings: settings.All(), Env: env}.Load()
		if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "csiglab.yaml is not read: not yours alone: "+what) || values["listen"].From != settings.Default {
			t.Errorf("%v, %q, %v; want it left out: %s", values["listen"], notes, err, what)
		}
	}
	write(t, settings.FolderFile, "listen: :9\n")
	if err := os.Chmod(settings.FolderFile, 0o666); err != nil {
		t.Fatal(err)
	}
	foreign("everybody may write in it")
	if os.Geteuid() == 0 {
		if err := os.Chown(settings.FolderFile, 65534, 0); err != nil {
			t.Fatal(err)
		}
		foreign("it belongs to user 65534")
	}
}

func errFirst(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

var update = flag.Bool("update", false, "write the table of docs/how-to/config.md")

// No variable but that of the runtime is one of an experiment, and docs/how-to/config.md has the table.
func TestTable(t *testing.T) {
	paths := experiment.Paths(experiment.StandardTables())
	table := "\n## Settings\n\n| key | flag | variable | default | |\n|---|---|---|---|---|\n"
	for _, s := range settings.All() {
		taken := slices.ContainsFunc(paths, func(path string) bool {
			return "CSIGLAB_"+strings.NewReplacer(".", "_", "-", "_").Replace(strings.ToUpper(path)) == s.Variable
		})
		if taken != (s.Key == settings.Runtime) {
			t.Errorf("%s: an experiment has %s: %v", s.Key, s.Variable, taken)
		}
		flag, value, key := "", s.Absent, s.Key
		if s.Flag != "" {
			flag = "`--" + s.Flag + "`"
		}
		if s.Default != "" {
			value = "`" + s.Default + "`"
		}
		if s.OneRun {
			key += " (no file)"
		}
		table += fmt.Sprintf("| %s | %s | `%s` | %s | %s |\n", key, flag, s.Variable, value, strings.ReplaceAll(s.Doc, "`", ""))
	}
	checkout.Written(t, "how-to/config.md", table, *update)
}
