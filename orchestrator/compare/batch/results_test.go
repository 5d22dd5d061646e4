package batch

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/orchestrator/compare/trial"
)

func TestParseResults(t *testing.T) {
	env := []string{keyVariable + "=id-1", secretVariable + "=secret-1", "AWS_SESSION_TOKEN=", storeVariable + "=http://store:9000", "PATH=/bin"}
	for _, c := range []struct {
		text string
		env  []string
		want Results
		err  string
	}{
		{text: "pvc:runs", want: Results{Claim: "runs"}},
		{text: "s3://lab", env: env, want: Results{Bucket: "lab"}},
		{text: "s3://lab/a/b/", env: env, want: Results{Bucket: "lab", Prefix: "a/b"}},
		{text: "pvc:", err: `"" is no name of a PersistentVolumeClaim`},
		{text: "pvc:Runs", err: `"Runs" is no name`},
		{text: "s3://", env: env, err: `"" is no name of a bucket`},
		{text: "s3://lab/a//b", env: env, err: "the prefix has empty or relative parts"},
		{text: "s3://lab/../b", env: env, err: "the prefix has empty or relative parts"},
		{text: "runs", err: "want pvc:NAME or s3://BUCKET/PREFIX"},
		{text: "s3://lab", env: env[:1], err: "the environment variable AWS_SECRET_ACCESS_KEY is missing"},
		{text: "s3://lab", env: append([]string{storeVariable + "=ftp://me:pass@store"}, env[:2]...), err: "AWS_ENDPOINT_URL_S3: want http://HOST"},
	} {
		got, err := ParseResults(c.text, c.env)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "pass") {
				t.Errorf("%s: %v", c.text, err)
			}
			continue
		}
		if err != nil || !cmp.Equal(got.public(), c.want, cmp.AllowUnexported(Results{})) || got.String() != strings.TrimRight(c.text, "/") {
			t.Errorf("%s: %v, %v", c.text, got.public(), err)
		}
	}
}

// store is an object store, as far as an upload needs it.
type store struct {
	mu      sync.Mutex
	objects map[string]string
	wrong   []string
	refuse  bool
}

// ServeHTTP takes PUT requests (Amazon S3 API reference, PutObject).
func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sign := r.Header.Get("Authorization"); r.Method != http.MethodPut || !strings.HasPrefix(sign, "AWS4-HMAC-SHA256 Credential=id-1/") || !strings.Contains(sign, "Signature=") || strings.Contains(sign, "secret-1") {
		s.wrong = append(s.wrong, r.Method+" "+r.URL.Path)
	}
	if s.refuse {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>not with secret-1</Message></Error>`)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.wrong = append(s.wrong, err.Error())
	}
	if r.Header.Get("X-Amz-Decoded-Content-Length") != "" {
		body = unchunk(body)
	}
	s.objects[r.URL.Path] = string(body)
	w.Header().Set("ETag", `"1"`)
}

// unchunk returns the data of a body in signed chunks: SIZE;chunk-signature=… CRLF DATA CRLF.
func unchunk(body []byte) (data []byte) {
	for {
		head, rest, ok := bytes.Cut(body, []byte("\r\n"))
		text, _, _ := strings.Cut(string(head), ";")
		n, err := strconv.ParseInt(text, 16, 64)
		if !ok || err != nil || n == 0 || int(n) > len(rest) {
			return data
		}
		data, body = append(data, rest[:n]...), rest[n:]
		body = bytes.TrimPrefix(body, []byte("\r\n"))
	}
}

// Run folders reach an object store under the trials' names. The credentials are in no log,
// and in no environment of the run.
func TestObjectStore(t *testing.T) {
	s := &store{objects: map[string]string{}}
	server := httptest.NewServer(s)
	defer server.Close()
	l := newLab(t)
	r := l.runner(t)
	var err error
	if r.Results, err = ParseResults("s3://lab/sweeps", []string{keyVariable + "=id-1", secretVariable + "=secret-1", storeVariable + "=" + server.URL}); err != nil {
		t.Fatal(err)
	}
	trials := list(t, 2, "description=words")
	outcomes, err := trial.All(t.Context(), r, nil, trials, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, out := range outcomes {
		name := trials[i].Name()
		if out.Exit != 0 || out.Folder != "s3://lab/sweeps/"+name || out.Metrics["procs"] != 0 {
			t.Errorf("trial %d: %+v", i, out)
		}
		if got := s.objects["/lab/sweeps/"+name+"/part/rows"]; got != "words" {
			t.Errorf("trial %d: %q of %v", i, got, s.objects)
		}
	}
	if s.wrong != nil {
		t.Errorf("requests %q", s.wrong)
	}
	s.refuse = true
	out, err := r.Run(t.Context(), list(t, 3)[2])
	if text := strings.Join(out.Reasons, "\n"); err != nil || out.Exit != 3 || !strings.Contains(text, "cannot be kept in s3://lab/sweeps: part/rows: not with ***") {
		t.Errorf("%+v, %v", out, err)
	}
}

// Run folders are in a claim under the trials' names, whole.
func TestClaim(t *testing.T) {
	l := newLab(t)
	r := l.runner(t)
	r.Results = Results{Claim: "runs"}
	trials := list(t, 2, "description=words")
	old := filepath.Join(l.dir, "claim", trials[0].Name())
	if err := os.MkdirAll(filepath.Join(old, "of a pod that was lost"), 0o755); err != nil {
		t.Fatal(err)
	}
	outcomes, err := trial.All(t.Context(), r, nil, trials, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i, out := range outcomes {
		name := trials[i].Name()
		want = append(want, name)
		text, err := os.ReadFile(filepath.Join(l.dir, "claim", name, "part", "rows"))
		if err != nil || string(text) != "words" || out.Folder != "pvc:runs/"+name {
			t.Errorf("trial %d: %+v, %v", i, out, err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(l.dir, "claim"))
	if err != nil || len(entries) != len(want) {
		t.Errorf("the claim has %v", entries)
	}
	if entries, err := os.ReadDir(old); err != nil || len(entries) != 1 {
		t.Errorf("the first run folder has %v", entries)
	}
}
