package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/internal/checkout"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"
)

// kubeconfig writes a kubeconfig with a context of each server, and returns its path.
func kubeconfig(t *testing.T, current string, servers map[string]string) string {
	t.Helper()
	config := api.NewConfig()
	config.CurrentContext = current
	config.AuthInfos["user"] = &api.AuthInfo{Token: "a-secret-token"}
	for name, server := range servers {
		config.Clusters[name] = &api.Cluster{Server: server}
		config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: "user", Namespace: "lab"}
	}
	file := filepath.Join(t.TempDir(), "config")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// statusJSON is an answer of an API server that is an error.
func statusJSON(code int, message string) string {
	text, _ := json.Marshal(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: int32(code), Message: message, Reason: metav1.StatusReason(http.StatusText(code))})
	return string(text)
}

// answering returns a server that gives one answer to everything.
func answering(t *testing.T, code int, body string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s
}

const versionJSON = `{"major":"1","minor":"34","gitVersion":"v1.34.4"}`

func TestConnect(t *testing.T) {
	good := answering(t, 200, versionJSON)
	t.Setenv("KUBECONFIG", kubeconfig(t, "a", map[string]string{"a": good.URL, "b": "http://127.0.0.1:1"}))
	c, err := Connect(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	if c.Context != "a" || c.Namespace != "lab" || c.Version != "v1.34.4" || c.Server != good.URL {
		t.Errorf("got %s, %s, %s, %s", c.Context, c.Namespace, c.Version, c.Server)
	}
	if c, err := Connect(t.Context(), "a", "other"); err != nil || c.Namespace != "other" {
		t.Errorf("with a namespace: %+v, %v", c, err)
	}
}

// TestConnectErrors connects to servers and contexts that are wrong, each in its way.
func TestConnectErrors(t *testing.T) {
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused.Close()
	overTLS := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, versionJSON) }))
	overTLS.Config.ErrorLog = log.New(io.Discard, "", 0)
	overTLS.StartTLS()
	t.Cleanup(overTLS.Close)
	good := answering(t, 200, versionJSON)
	for _, tt := range []struct {
		name, context, server string
		want                  error
		texts                 []string
	}{
		{"unknown context", "nowhere", good.URL, ErrContext, []string{`"nowhere"`, "there are a"}},
		{"connection refused", "a", "http://" + refused.Addr().String(), ErrUnreachable, []string{"connection refused", refused.Addr().String()}},
		{"unknown host", "a", "http://no-such-host.invalid:6443", ErrUnreachable, []string{"no-such-host.invalid"}},
		{"unauthorized", "a", answering(t, 401, statusJSON(401, "Unauthorized")).URL, ErrForbidden, []string{"401", "log in"}},
		{"forbidden", "a", answering(t, 403, statusJSON(403, `User "x" cannot get path "/version"`)).URL, ErrForbidden, []string{"forbidden (403)"}},
		{"not found", "a", answering(t, 404, "404 page not found").URL, ErrUnreachable, []string{"404"}},
		{"web page", "a", answering(t, 200, "<html>welcome</html>").URL, ErrUnreachable, []string{"does not answer as a Kubernetes API server"}},
		{"other JSON", "a", answering(t, 200, `{}`).URL, ErrUnreachable, []string{"does not answer as a Kubernetes API server"}},
		{"server error", "a", answering(t, 500, statusJSON(500, "etcdserver: no leader")).URL, ErrUnreachable, []string{"500", "internal server error"}},
		{"certificate", "a", overTLS.URL, ErrUnreachable, []string{"certificate is not of the authority"}},
		{"no TLS", "a", strings.Replace(good.URL, "http:", "https:", 1), ErrUnreachable, []string{"does not speak TLS"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", kubeconfig(t, "a", map[string]string{"a": tt.server}))
			begun := time.Now()
			_, err := Connect(t.Context(), tt.context, "")
			if !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			for _, text := range tt.texts {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("error %q, want %q in it", err, text)
				}
			}
			if strings.Contains(err.Error(), "a-secret-token") {
				t.Errorf("error %q has the token", err)
			}
			if took := time.Since(begun); took > 2*reachWithin {
				t.Errorf("took %v, want at most %v", took, reachWithin)
			}
		})
	}
}

// TestConnectWithoutAnswer connects to a server that takes connections and says nothing; the
// user's patience ends first.
func TestConnectWithoutAnswer(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	t.Setenv("KUBECONFIG", kubeconfig(t, "a", map[string]string{"a": "http://" + silent.Addr().String()}))
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	time.AfterFunc(50*time.Millisecond, func() { cancel(enough) })
	if _, err := Connect(ctx, "", ""); !errors.Is(err, enough) {
		t.Errorf("interrupted: %v, want %v", err, enough)
	}
	checkout.SkipLong(t)
	begun := time.Now()
	_, err = Connect(t.Context(), "", "")
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "no answer within 10s") {
		t.Errorf("error %v, want %v", err, ErrUnreachable)
	}
	if took := time.Since(begun); took > reachWithin+5*time.Second {
		t.Errorf("took %v, want %v", took, reachWithin)
	}
}

func TestKubeconfigErrors(t *testing.T) {
	garbage := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(garbage, []byte("{{{"), 0o600); err != nil {
		t.Fatal(err)
	}
	absent := filepath.Join(t.TempDir(), "absent")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for file, text := range map[string]string{garbage: garbage, absent: absent, kubeconfig(t, "", map[string]string{"x": "http://127.0.0.1:1", "y": "http://127.0.0.1:1"}): "there are x, y"} {
		t.Setenv("KUBECONFIG", file)
		if _, err := Connect(t.Context(), "", ""); !errors.Is(err, ErrContext) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: error %v, want %v with %q", file, err, ErrContext, text)
		}
	}
}

func TestParse(t *testing.T) {
	for target, want := range map[string]string{"kubernetes": "", "kubernetes:lab": "lab", "kubernetes:arn:aws:eks:x/y": "arn:aws:eks:x/y"} {
		if got, err := Parse(target); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", target, got, err, want)
		}
	}
	for _, target := range []string{"", "kubernetes:", "k8s", "kubernetesx:y"} {
		if _, err := Parse(target); err == nil {
			t.Errorf("%q: no error", target)
		}
	}
}

// TestSilence holds that client-go's log does not reach the user's standard error.
func TestSilence(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stderr
	os.Stderr = w
	quiet()
	klog.Error("an error of client-go")
	klog.Warningf("a warning: %d", 1)
	klog.Background().Error(errors.New("x"), "an error")
	klog.Flush()
	os.Stderr = old
	w.Close()
	if text, err := io.ReadAll(r); len(text) > 0 || err != nil {
		t.Errorf("standard error: %q, %v", text, err)
	}
}

// TestExplain holds what becomes of the server's errors.
func TestExplain(t *testing.T) {
	c := &Cluster{Server: "https://s"}
	for _, tt := range []struct {
		code    int
		message string
		want    error
		text    string
	}{
		{403, `pods "x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2`, ErrUnschedulable, "raised"},
		{403, `pods "x" is forbidden: failed quota: q: must specify limits.cpu for: csiglab`, ErrUnschedulable, "limits.cpu"},
		{403, `pods "x" is forbidden: violates PodSecurity "restricted:latest": seccompProfile`, ErrRefused, "baseline"},
		{403, `admission webhook "policy.example" denied the request: no`, ErrRefused, "policy.example"},
		{403, `jobs.batch is forbidden: User "x" cannot create resource "jobs" in API group "batch" in the namespace "n"`, ErrForbidden, "csiglab doctor"},
		{401, "Unauthorized", ErrForbidden, "log in"},
		{409, "the object has been modified", ErrRefused, "modified"},
		{422, "spec.completions: Invalid value", ErrRefused, "spec.completions"},
		{413, "limit is 3145728", ErrRefused, "3145728"},
		{429, "too many requests", ErrUnreachable, "429"},
		{500, "boom", ErrUnreachable, "boom"},
		{503, "apiserver is shutting down", ErrUnreachable, "503"},
		{504, "timeout", ErrUnreachable, "504"},
		{418, "teapot", ErrRefused, "418"},
	} {
		err := c.explainStatus("make Job x", fmt.Errorf("teapot"), metav1.Status{Code: int32(tt.code), Message: tt.message})
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) || !strings.Contains(err.Error(), "make Job x") {
			t.Errorf("%d %q: %v, want %v with %q", tt.code, tt.message, err, tt.want, tt.text)
		}
	}
}
