package words

import (
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/csiglab/csiglab/internal/lazy"
)

var notInNames = lazy.Regexp(`[^a-z0-9]+`)

// FileName returns a name with small letters, digits and hyphens alone, of at most 60.
func FileName(text string) string {
	const most = 60
	name := strings.Trim(notInNames().ReplaceAllString(strings.ToLower(text), "-"), "-")
	if len(name) > most {
		name = strings.TrimRight(name[:most], "-")
	}
	if name == "" {
		return "figure"
	}
	return name
}

// ID returns a name's part of an anchor or of a figure's ID. Names that FileName would make
// equal keep different ones.
func ID(name string) string {
	if part := FileName(name); part != name {
		return fmt.Sprintf("%s-%08x", part, crc32.ChecksumIEEE([]byte(name)))
	}
	return name
}
