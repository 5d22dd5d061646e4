package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSchemaInAnEditor asks a YAML language server, as an editor does, what may stand at a place
// of an experiment and what is wrong in it.
func TestSchemaInAnEditor(t *testing.T) {
	server := languageServer(t)
	dir := t.TempDir()
	code, schema, stderr := executed(t, "schema")
	if code != 0 {
		t.Fatalf("schema: %d, %s", code, stderr)
	}
	if err := os.WriteFile(filepath.Join(dir, "csiglab.schema.json"), []byte(schema), 0o600); err != nil {
		t.Fatal(err)
	}
	const text = "# yaml-language-server: $schema=csiglab.schema.json\nschema: 1\nname: x\nhosts:\n  cc: ns\nlinks:\n  qu\ntopology:\n  ring: {switches: 2, rate: 1Gbps, delay: 1us}\n"
	uri := "file://" + filepath.Join(dir, "x.yaml")
	c := startServer(t, server)
	c.call("initialize", map[string]any{"processId": os.Getpid(), "rootUri": "file://" + dir, "capabilities": map[string]any{}})
	c.notify("initialized", map[string]any{})
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "yaml", "version": 1, "text": text}})
	complete := func(line, character int) (labels []string, all string) {
		result := c.call("textDocument/completion", map[string]any{"textDocument": map[string]any{"uri": uri}, "position": map[string]any{"line": line, "character": character}})
		var list struct {
			Items []struct{ Label string } `json:"items"`
		}
		if err := json.Unmarshal(result, &list); err != nil {
			t.Fatalf("%v in %s", err, result)
		}
		for _, item := range list.Items {
			labels = append(labels, item.Label)
		}
		return labels, string(result)
	}
	if labels, all := complete(6, 4); !slices.Contains(labels, "queue") || !strings.Contains(all, "data queue of a switch port") {
		t.Errorf("completion of a key of links: %s", all)
	}
	if labels, all := complete(4, 8); !slices.Contains(labels, "nscc") {
		t.Errorf("completion of an algorithm: %s", all)
	}
	if wrong := c.diagnostics(uri); !strings.Contains(wrong, "minimum of 3") {
		t.Errorf("marked as wrong: %s; want that 2 switches are too few", wrong)
	}
}

// languageServer returns the program of the npm package yaml-language-server.
func languageServer(t *testing.T) string {
	for _, dir := range filepath.SplitList(os.Getenv("NODE_PATH")) {
		path := filepath.Join(dir, ".bin", "yaml-language-server")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Skip("the npm package yaml-language-server is not below NODE_PATH")
	return ""
}

// languageClient is the client's side of the Language Server Protocol.
type languageClient struct {
	t      *testing.T
	in     io.Writer
	out    *bufio.Reader
	id     int
	marked map[string]string // the last diagnostics, by document
}

func startServer(t *testing.T, program string) *languageClient {
	cmd := exec.Command(program, "--stdio")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }) // the reads below end then
	t.Cleanup(func() {
		limit.Stop()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &languageClient{t: t, in: in, out: bufio.NewReader(out), marked: map[string]string{}}
}

func (c *languageClient) send(message map[string]any) {
	message["jsonrpc"] = "2.0"
	text, err := json.Marshal(message)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n%s", len(text), text); err != nil {
		c.t.Fatal(err)
	}
}

func (c *languageClient) notify(method string, params any) {
	c.send(map[string]any{"method": method, "params": params})
}

// call returns the result of a request.
func (c *languageClient) call(method string, params any) json.RawMessage {
	c.id++
	c.send(map[string]any{"id": c.id, "method": method, "params": params})
	for {
		m := c.read()
		if m.Method == "" && m.ID != nil && *m.ID == c.id {
			return m.Result
		}
	}
}

// diagnostics returns what the server has marked in a document.
func (c *languageClient) diagnostics(uri string) string {
	for c.marked[uri] == "" {
		c.read()
	}
	return c.marked[uri]
}

type languageMessage struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Params json.RawMessage `json:"params"`
}

// read reads a message, notes diagnostics and answers the server's requests with nothing.
func (c *languageClient) read() languageMessage {
	length := 0
	for {
		line, err := c.out.ReadString('\n')
		if err != nil {
			c.t.Fatalf("the language server: %v", err)
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		_, _ = fmt.Sscanf(line, "Content-Length: %d", &length)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(c.out, text); err != nil {
		c.t.Fatal(err)
	}
	var m languageMessage
	if err := json.Unmarshal(text, &m); err != nil {
		c.t.Fatalf("%v in %s", err, text)
	}
	switch {
	case m.Method == "textDocument/publishDiagnostics":
		var p struct {
			URI         string            `json:"uri"`
			Diagnostics []json.RawMessage `json:"diagnostics"`
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			c.t.Fatal(err)
		}
		if len(p.Diagnostics) > 0 {
			c.marked[p.URI] = string(m.Params)
		}
	case m.Method != "" && m.ID != nil:
		c.send(map[string]any{"id": *m.ID, "result": nil})
	}
	return m
}
