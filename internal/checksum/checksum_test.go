package checksum

import (
	"encoding/json"
	"fmt"
	"testing"
)

// Every flipped bit, and every cut, makes a text invalid.
func TestValid(t *testing.T) {
	for _, object := range []string{`{"a":1}`, "{\"a\":1}\n", "{\n  \"a\": {}\n}\n"} {
		whole := Append([]byte(object))
		if !Valid(whole) || !json.Valid(whole) || !json.Valid(Object(whole)) {
			t.Errorf("%q: %q", object, whole)
		}
		for i := range whole {
			for bit := range 8 {
				whole[i] ^= 1 << bit
				if Valid(whole) {
					t.Errorf("%q is taken", whole)
				}
				whole[i] ^= 1 << bit
			}
			if Valid(whole[:i]) {
				t.Errorf("%q is taken", whole[:i])
			}
		}
	}
}

func ExampleAppend() {
	text := Append([]byte(`{"seeds":[1,2]}`))
	fmt.Printf("%s%s%v\n", text, Object(text), Valid(text))
	// Output:
	// {"seeds":[1,2],"sum":"348ea5561194758b77cbfddf0577dde0"}
	// {"seeds":[1,2]}
	// true
}
