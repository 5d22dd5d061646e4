package image

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// program returns an ELF file of this machine with some content. With a part of the given
// type it is, for PT_INTERP, one that is linked dynamically.
func program(content string, machine elf.Machine, part elf.ProgType) []byte {
	var b bytes.Buffer
	h := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64,
	}
	binary.Write(&b, binary.LittleEndian, h) // a buffer takes everything
	binary.Write(&b, binary.LittleEndian, elf.Prog64{Type: uint32(part), Off: 120, Filesz: uint64(len(content))})
	b.WriteString(content)
	return b.Bytes()
}

// static is a program that can be in an image.
func static(content string) []byte {
	return program(content, machines[runtime.GOARCH], elf.PT_LOAD)
}

// folder writes files into a folder of their own.
func folder(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		name = filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		if err == nil {
			err = os.WriteFile(name, content, 0o700)
		}
		if err == nil { // neither the time nor the rights of a file are in an image
			at := time.Unix(int64(len(dir))*1e6, 0)
			err = os.Chtimes(name, at, at)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// plain are the programs of a csiglab without modules.
func plain(host string) map[string][]byte {
	return map[string][]byte{"csiglab": static("lab"), "csig-host": static(host), "csig-switch": static("switch")}
}

func programsOf(t *testing.T, path, id string) Programs {
	t.Helper()
	p, err := Of(path, "", "")
	if err != nil {
		t.Fatal(err)
	}
	p.Identity, p.Version = id, "v1"
	return p
}

// quiet is a registry in memory. see is called with each request.
func quiet(t *testing.T, see func(*http.Request)) (host string) {
	t.Helper()
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		see(r)
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// pulled is what a file of an image is.
type pulled struct {
	Mode int64
	Text string
}

// What is pushed is what a node pulls: the files, the user, the entry point and the labels;
// and a program that has not changed is not sent again.
func TestPushAndPull(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	var sent atomic.Int64
	host := quiet(t, func(r *http.Request) {
		if r.Method == http.MethodPatch {
			sent.Add(1)
		}
	})
	dir := folder(t, plain("host"))
	other := folder(t, map[string][]byte{
		"lab-x": static("lab-x"), "lab-x.programs/csig-host": static("host-x"), "lab-x.programs/csig-switch": static("switch-x"),
	})
	list := []Programs{programsOf(t, dir+"/csiglab", "file-a"), programsOf(t, other+"/lab-x", "file-b")}
	list[0].Build = "key"
	reference := host + "/team/csiglab:1"
	var last [2]int64
	got, err := Push(t.Context(), reference, Options{Progress: func(done, total int64) { last = [2]int64{done, total} }}, list...)
	if err != nil {
		t.Fatal(err)
	}
	if last[0] != last[1] || last[0] < got.Size {
		t.Errorf("progress ends at %d of %d bytes; the layers have %d", last[0], last[1], got.Size)
	}
	tag, err := name.NewTag(reference)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(tag)
	if err != nil {
		t.Fatal(err)
	}
	if digest, err := image.Digest(); err != nil || digest.String() != got.Digest || got.Reference != reference {
		t.Errorf("the registry has %v, %v; want %s of %s", digest, err, got.Digest, got.Reference)
	}
	files := map[string]pulled{}
	content := mutate.Extract(image)
	defer content.Close()
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Uname != "" || h.ModTime.Unix() != 0 {
			t.Errorf("%s is of user %d %q, %v; want nothing of this machine", h.Name, h.Uid, h.Uname, h.ModTime)
		}
		files[strings.TrimSuffix(h.Name, "/")] = pulled{h.Mode, string(text)}
	}
	want := map[string]pulled{
		"bin": {0o755, ""}, "etc": {0o755, ""}, "programs": {0o755, ""}, "tmp": {0o1777, ""}, "work": {0o1777, ""},
		"etc/passwd":  {0o644, "root:x:0:0::/:/bin/csiglab\ncsiglab:x:1000:1000::/work:/bin/csiglab\n"},
		"etc/group":   {0o644, "root:x:0:\ncsiglab:x:1000:\n"},
		"bin/csiglab": {0o755, string(static("lab"))}, "bin/csig-host": {0o755, string(static("host"))}, "bin/csig-switch": {0o755, string(static("switch"))},
		"programs/file-b": {0o755, ""}, "programs/file-b/csiglab.programs": {0o755, ""}, "programs/file-b/csiglab": {0o755, string(static("lab-x"))},
		"programs/file-b/csiglab.programs/csig-host": {0o755, string(static("host-x"))}, "programs/file-b/csiglab.programs/csig-switch": {0o755, string(static("switch-x"))},
	}
	if diff := cmp.Diff(files, want); diff != "" {
		t.Errorf("files (-got +want):\n%s", diff)
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if file.Architecture != runtime.GOARCH || file.OS != "linux" {
		t.Errorf("platform %s/%s", file.OS, file.Architecture)
	}
	wantConfig := v1.Config{
		Entrypoint: []string{"/bin/csiglab"}, User: "1000:1000", WorkingDir: "/work", Env: []string{"PATH=/bin", "HOME=/work"},
		Labels: map[string]string{LabelVersion: "v1", LabelIdentity: "file-a", LabelBuild: "key", LabelOthers: "file-b"},
	}
	if diff := cmp.Diff(file.Config, wantConfig); diff != "" {
		t.Errorf("config (-got +want):\n%s", diff)
	}

	// Again, with another csig-host: its layer and the image's config are sent, no more.
	before := sent.Load()
	if err := os.WriteFile(dir+"/csig-host", static("newer"), 0o755); err != nil {
		t.Fatal(err)
	}
	again, err := Push(t.Context(), reference, Options{}, list...)
	if err != nil {
		t.Fatal(err)
	}
	if n := sent.Load() - before; n != 2 || before != 8 || again.Digest == got.Digest {
		t.Errorf("%d blobs sent, then %d, digest %s after %s; want 8 (seven layers, config), then 2", before, n, again.Digest, got.Digest)
	}
}

// The same programs give the same archive, from whichever folder, with whatever times; with
// another program, the layers of the rest are the same.
func TestSameBytes(t *testing.T) {
	archive := func(host string) (*Image, []byte) {
		var b bytes.Buffer
		i, err := Save(t.Context(), "lab.invalid/csiglab:1", &b, programsOf(t, folder(t, plain(host))+"/csiglab", "file-a"))
		if err != nil {
			t.Fatal(err)
		}
		return i, b.Bytes()
	}
	layers := func(archive []byte) (list []string) {
		for r := tar.NewReader(bytes.NewReader(archive)); ; {
			h, err := r.Next()
			if err == io.EOF {
				return list
			}
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(h.Name, ".tar.gz") {
				list = append(list, h.Name)
			}
		}
	}
	i, a := archive("host")
	j, b := archive("host")
	if *i != *j || !bytes.Equal(a, b) {
		t.Errorf("%v and %v; the archives have %d and %d bytes", i, j, len(a), len(b))
	}
	k, c := archive("other")
	if k.Digest == i.Digest {
		t.Errorf("another csig-host has the same digest %s", k.Digest)
	}
	old, fresh := layers(a), layers(c)
	both := map[string]bool{}
	for _, name := range slices.Concat(old, fresh) {
		both[name] = true
	}
	if len(old) != 4 || len(both) != 5 {
		t.Errorf("layers %q, then %q; want 4, of which one changes", old, fresh)
	}
}

// What cannot be in an image is refused, with what to do about it.
func TestPrograms(t *testing.T) {
	foreign := elf.EM_S390
	for _, test := range []struct {
		what   string
		change map[string][]byte // of plain; nil content: not there
		want   string
	}{
		{"no csiglab", map[string][]byte{"csiglab": nil}, "no such file"},
		{"no csig-host", map[string][]byte{"csig-host": nil}, "csig-host is neither beside"},
		{"no csig-switch", map[string][]byte{"csig-switch": nil}, "csig-switch is neither beside"},
		{"dynamic", map[string][]byte{"csig-switch": program("x", machines[runtime.GOARCH], elf.PT_INTERP)}, "csig-switch is linked dynamically, and the image has no libraries; build it with CGO_ENABLED=0"},
		{"other machine", map[string][]byte{"csig-host": program("x", foreign, elf.PT_LOAD)}, "is for S390, and this machine is " + runtime.GOARCH},
		{"script", map[string][]byte{"csiglab": []byte("#!/bin/sh\n")}, "is no Linux program"},
		{"empty", map[string][]byte{"csiglab": {}}, "is no Linux program"},
	} {
		t.Run(test.what, func(t *testing.T) {
			files := plain("host")
			maps.Copy(files, test.change)
			maps.DeleteFunc(files, func(_ string, content []byte) bool { return content == nil })
			p, err := Of(folder(t, files)+"/csiglab", "", "")
			if err == nil {
				p.Identity = "file-a"
				_, err = Save(t.Context(), "lab.invalid/csiglab:1", io.Discard, p)
			}
			if !errors.Is(err, ErrProgram) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %v: …%s", err, ErrProgram, test.want)
			}
		})
	}
	p := programsOf(t, folder(t, plain("host"))+"/csiglab", "../bin")
	if _, err := Save(t.Context(), "lab.invalid/csiglab:1", io.Discard, p, p); !errors.Is(err, ErrProgram) {
		t.Errorf("an identity that leaves its folder: %v", err)
	}
}

// The node programs of a csiglab that are on PATH, and not beside it, are beside it in the
// image.
func TestProgramsElsewhere(t *testing.T) {
	dir := folder(t, map[string][]byte{"csiglab": static("lab")})
	other := folder(t, plain("host"))
	p, err := Of(dir+"/csiglab", other+"/csig-host", other+"/csig-switch")
	if err != nil {
		t.Fatal(err)
	}
	want := []File{{"csiglab", dir + "/csiglab"}, {"csig-host", other + "/csig-host"}, {"csig-switch", other + "/csig-switch"}}
	if diff := cmp.Diff(p.Files, want); diff != "" {
		t.Errorf("files (-got +want):\n%s", diff)
	}
}

func TestReference(t *testing.T) {
	p := programsOf(t, folder(t, plain("host"))+"/csiglab", "file-a")
	for _, reference := range []string{"", "csiglab", "registry.example.com:5000/csiglab", "Csiglab:1", "a b:1", "x/csiglab@sha256:" + strings.Repeat("0", 64)} {
		if _, err := Push(t.Context(), reference, Options{}, p); !errors.Is(err, ErrReference) {
			t.Errorf("push %q: %v", reference, err)
		}
		if _, err := Save(t.Context(), reference, io.Discard, p); !errors.Is(err, ErrReference) {
			t.Errorf("save %q: %v", reference, err)
		}
	}
}

// A push uses the credentials of the docker configuration, and says in words what a registry
// refuses. No error names the password.
func TestPushErrors(t *testing.T) {
	config := t.TempDir()
	t.Setenv("DOCKER_CONFIG", config)
	p := programsOf(t, folder(t, plain("host"))+"/csiglab", "file-a")
	const user, password = "ann", "secret-word"
	private := func(w http.ResponseWriter, r *http.Request) bool {
		if u, p, _ := r.BasicAuth(); u == user && p == password {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="team"`)
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`)
		return true
	}
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := func(refuse func(http.ResponseWriter, *http.Request) bool) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !refuse(w, r) {
				handler.ServeHTTP(w, r)
			}
		}))
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
	answers := func(code int, body string) string {
		return server(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPost {
				return false
			}
			w.WriteHeader(code)
			fmt.Fprint(w, body)
			return true
		})
	}
	secured := httptest.NewUnstartedServer(handler)
	secured.Config.ErrorLog = log.New(io.Discard, "", 0)
	secured.StartTLS()
	defer secured.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	needs := server(private)
	push := func(host string) error {
		_, err := Push(t.Context(), host+"/team/csiglab:1", Options{}, p)
		return err
	}
	for _, test := range []struct{ what, host, want string }{
		{"no credentials", needs, "does not permit to push to team/csiglab (401 unauthorized); docker login " + needs},
		{"no right", answers(http.StatusForbidden, `{"errors":[{"code":"DENIED","message":"read only"}]}`), "(403 forbidden, DENIED read only)"},
		{"no repository", answers(http.StatusNotFound, `{"errors":[{"code":"NAME_UNKNOWN","message":"no project"}]}`), "has no repository team/csiglab"},
		{"too large", answers(http.StatusRequestEntityTooLarge, "<html>"), "takes no layer as large"},
		{"other", answers(http.StatusTeapot, ""), "answers 418 i'm a teapot"},
		{"certificate", secured.Listener.Addr().String(), "the certificate of " + secured.Listener.Addr().String() + " is not valid here: x509: "},
		{"nobody listens", closed.Addr().String(), "no registry listens at"},
	} {
		t.Run(test.what, func(t *testing.T) {
			if err := push(test.host); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "push "+test.host) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	login := func(password string) {
		auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
		if err := os.WriteFile(filepath.Join(config, "config.json"), fmt.Appendf(nil, `{"auths":{%q:{"auth":%q}}}`, needs, auth), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	login("wrong-word")
	if err := push(needs); err == nil || !strings.Contains(err.Error(), "401") || strings.Contains(err.Error(), "wrong-word") {
		t.Errorf("wrong password: %v", err)
	}
	login(password)
	if err := push(needs); err != nil {
		t.Errorf("right password: %v", err)
	}
}

// HTTP without TLS goes to the loopback address, and elsewhere only with Insecure.
func TestInsecure(t *testing.T) {
	reached := errors.New("reached")
	base := roundTripper(func(*http.Request) (*http.Response, error) { return nil, reached })
	for _, test := range []struct {
		url      string
		insecure bool
		want     error
	}{
		{"https://10.0.0.1/v2/", false, reached},
		{"http://10.0.0.1/v2/", false, errPlain},
		{"http://registry.example.com/v2/", false, errPlain},
		{"http://127.0.0.1.example.com/v2/", false, errPlain},
		{"http://10.0.0.1/v2/", true, reached},
		{"http://127.0.0.1:5000/v2/", false, reached},
		{"http://[::1]:5000/v2/", false, reached},
		{"http://localhost:5000/v2/", false, reached},
	} {
		r, err := http.NewRequest(http.MethodGet, test.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (&guard{base, test.insecure}).RoundTrip(r); !errors.Is(err, test.want) {
			t.Errorf("%s, insecure %v: got %v, want %v", test.url, test.insecure, err, test.want)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A push whose context ends while the registry takes a layer ends, too.
func TestPushCanceled(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	host := quiet(t, func(r *http.Request) {
		if r.Method == http.MethodPatch {
			io.Copy(io.Discard, r.Body) // else the server does not see that the client is gone
			cancel()
			<-r.Context().Done()
		}
	})
	p := programsOf(t, folder(t, plain("host"))+"/csiglab", "file-a")
	if _, err := Push(ctx, host+"/csiglab:1", Options{}, p); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if _, err := Save(ctx, "lab.invalid/csiglab:1", io.Discard, p); !errors.Is(err, context.Canceled) {
		t.Errorf("save: got %v, want %v", err, context.Canceled)
	}
}
