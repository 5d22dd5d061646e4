package containerlabtest

import (
	"bytes"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/csiglab/csiglab/internal/checkout"
)

// Schema returns what compares a topology file with containerlab's own schema. It
// skips the test where that is not at hand.
func Schema(t testing.TB) func(topology []byte) error {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(checkout.Shared(t, "fixtures/srl-labs+containerlab/schemas/clab.schema.json"))
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
