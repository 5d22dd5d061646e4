package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
)

// What grafana push and provision refuse, and with which exit code.
func TestGrafanaRefuses(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"database": "ok", "version": "9.2.0"}`)
	}))
	defer server.Close()
	closed := httptest.NewServer(nil)
	closed.Close()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	token, empty, lines := write("token", "glsa_x\n"), write("empty", "\n"), write("lines", "a\nb\n")
	write("compose.yaml", "services: {}\n")
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"push"}, command.ExitUsage, "--url and --token-file are needed"},
		{[]string{"push", "--url", server.URL, "--token-file", token}, command.ExitUsage, "it is too old: Grafana 9.2.0; csiglab's dashboards need 10.0 or newer"},
		{[]string{"push", "--url", closed.URL, "--token-file", token}, command.ExitInfrastructure, "it cannot be reached: "},
		{[]string{"push", "--url", "localhost", "--token-file", token}, command.ExitUsage, `"localhost" is not an address`},
		{[]string{"push", "--url", server.URL, "--token-file", empty}, command.ExitUsage, "want one line of printable ASCII"},
		{[]string{"push", "--url", server.URL, "--token-file", lines}, command.ExitUsage, "want one line of printable ASCII"},
		{[]string{"push", "--url", server.URL, "--token-file", dir + "/no"}, command.ExitUsage, "--token-file " + dir + "/no: no such file or directory"},
		{[]string{"push", "--url", server.URL, "--token-file", token, "--datasource-token-file", empty}, command.ExitUsage, "--datasource-token-file " + empty},
		{[]string{"push", "--url", server.URL, "--token-file", token, dir + "/no"}, command.ExitUsage, "no such file or directory"},
		{[]string{"push", "--url", server.URL, "--token-file", token, "--stretch", "0"}, command.ExitUsage, "want 1 to 1000000, or auto"},
		{[]string{"push", "--url", server.URL, "--tokenfile", token}, command.ExitUsage, `did you mean "--token-file"`},
		{[]string{"provison"}, command.ExitUsage, `did you mean "provision"`},
		{[]string{"provision"}, command.ExitUsage, "requires at least 1 arg"},
		{[]string{"provision", dir}, command.ExitUsage, "compose.yaml: it is not csiglab's"},
		{[]string{"provision", dir + "/new", "--datasource-url", "x"}, command.ExitUsage, `data source: wrong configuration: "x"`},
	} {
		var stdout, stderr bytes.Buffer
		code := execute(t.Context(), command.Linked{}, (&fakeLab{}).lab(), append([]string{"grafana"}, c.args...), nil, &stdout, &stderr)
		if code != c.code || !strings.Contains(stderr.String(), c.text) || stdout.Len() > 0 {
			t.Errorf("grafana %q: exit %d, want %d; %s%s", c.args, code, c.code, &stdout, &stderr)
		}
	}
	if _, err := os.Stat(dir + "/new"); err == nil {
		t.Error("provision with a wrong data source makes its folder")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 4 {
		t.Errorf("%v, %v, want the files of this test alone", entries, err)
	}
}

// The compose file serves with the stretch of the dashboards' time.
func TestGrafanaProvisionStretch(t *testing.T) {
	for stretch, want := range map[string]string{"10": "- --stretch\n    - \"10\"\n", "auto": ""} {
		dir := t.TempDir()
		code, stdout, stderr := csiglab(&fakeLab{}, nil, "grafana", "provision", dir, "--stretch", stretch)
		text, err := os.ReadFile(filepath.Join(dir, "compose.yaml"))
		if code != command.ExitOK || err != nil || !strings.Contains(string(text), want) || want == "" && strings.Contains(string(text), "stretch") {
			t.Errorf("--stretch %s: exit %d, %v: %s%s\n%s", stretch, code, err, stdout, stderr, text)
		}
	}
}
