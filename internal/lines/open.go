package lines

import (
	"errors"
	"strings"

	"github.com/csiglab/csiglab/internal/own"
)

// Open opens a regular file of at most so many bytes, which must not be packed or in
// another encoding than UTF-8. The error does not name the file.
func Open(name string, most int64) (*own.File, error) {
	f, err := own.Input(name, most)
	if err != nil {
		return nil, err
	}
	start, err := f.Start(4)
	for _, form := range []struct{ start, what string }{
		{"\x1f\x8b", "compressed with gzip; unpack it first"},
		{"\x28\xb5\x2f\xfd", "compressed with zstd; unpack it first"},
		{"\xfd7zX", "compressed with xz; unpack it first"},
		{"BZh", "compressed with bzip2; unpack it first"},
		{"PK\x03\x04", "a zip archive; unpack it first"},
		{"\xff\xfe", "UTF-16; the text must be UTF-8"},
		{"\xfe\xff", "UTF-16; the text must be UTF-8"},
	} {
		if err == nil && strings.HasPrefix(string(start), form.start) {
			err = errors.New(form.what)
		}
	}
	if err != nil {
		f.Close() // opened for reading
		return nil, err
	}
	return f, nil
}
