// Package checksum ends an object of JSON with a checksum of the text before it. A reader
// finds with it that the text was damaged; it does not find forgery.
package checksum

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
)

// ErrDiffers is the error of a text that has been changed since Append.
var ErrDiffers = errors.New("it differs from its checksum")

// Append returns an object, which has a key, with the checksum as its last key, and a newline.
// It may overwrite the end of the object.
func Append(object []byte) []byte {
	object = bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(object), []byte("}")))
	return append(object, end(object)...)
}

// Valid reports whether a text is one of Append, unchanged.
func Valid(text []byte) bool {
	at := len(text) - len(end(nil))
	return at > 0 && string(text[at:]) == end(text[:at])
}

// Object returns the object of a valid text, without the checksum. What it has stands where it
// stands in the text.
func Object(text []byte) []byte {
	return append(slices.Clone(text[:len(text)-len(end(nil))]), "}\n"...)
}

// end returns the end of a text: 128 bits of its SHA-256. It is always as long.
func end(text []byte) string {
	sum := sha256.Sum256(text)
	return fmt.Sprintf(`,"sum":"%x"}`+"\n", sum[:16])
}
