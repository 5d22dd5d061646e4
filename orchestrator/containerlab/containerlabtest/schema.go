package containerlabtest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Repository returns the folder of go.mod.
func Repository(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}

// Fixtures returns the folder of public files, or skips the test.
func Fixtures(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(Repository(t), "../shared/fixtures")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the public files are not beside this checkout")
	}
	return dir
}

// Schema returns what compares a topology file with containerlab's own schema. It
// skips the test where that is not at hand.
func Schema(t testing.TB) func(topology []byte) error {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(Fixtures(t), "srl-labs+containerlab/schemas/clab.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	return func(topology []byte) error {
		asJSON, err := yaml.YAMLToJSON(topology)
		if err != nil {
			return err
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
		if err != nil {
			return err
		}
		return schema.Validate(document)
	}
}
