package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checksum"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
)

// A plan that is damaged is refused, without a panic.
func TestHostilePlans(t *testing.T) {
	s := create(t, plan(t, request(file(t, text))))
	s.Close()
	name := filepath.Join(s.Folder, planFile)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	texts := []string{"", "{}", "[]", "null", `{"schema":1,"points":[{}],"variants":["a"],"seeds":[1],"paths":["a"]}`, string(whole[:len(whole)/2]),
		strings.Replace(string(whole), `"single"`, `"double"`, 1), strings.Replace(string(whole), `"schema":2`, `"schema":3`, 1)}
	for _, text := range texts {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), s.Folder); !errors.Is(err, trial.ErrDamaged) {
			t.Errorf("%.100q: %v", text, err)
		}
	}
	for range 200 {
		bad := bytes.Clone(whole)
		bad[r.IntN(len(bad))] = byte(r.Uint32())
		if err := os.WriteFile(name, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		readPlan(s.Folder) // must not panic
	}
	read := func(text []byte) error {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadPlan(s.Folder)
		return err
	}
	for bit := 0; bit < 8*len(whole); bit += 11 {
		bad := bytes.Clone(whole)
		bad[bit/8] ^= 1 << (bit % 8)
		if err := read(bad); !errors.Is(err, trial.ErrDamaged) || !strings.Contains(err.Error(), planFile) {
			t.Fatalf("bit %d: %v", bit, err)
		}
	}
	old := *s.Plan // of the schema that had no checksum
	old.Schema = planWithoutSum
	old.Digest = old.digest()
	if text, err := json.Marshal(&old); err != nil || read(text) != nil {
		t.Errorf("%v, %v", err, read(text))
	}
	if err := read(checksum.Append(bytes.Replace(checksum.Object(whole), []byte(`"schema":2`), []byte(`"schema":3`), 1))); !errors.Is(err, ErrNoSweep) {
		t.Errorf("of a later csiglab: %v", err)
	}
}
