package jsonread

import (
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
)

// Fields reads an object strictly: it has exactly these keys, each once, of which optional
// ones may be missing. The function of a key reads its value. what names the object in
// errors, as in "a job".
func (r *Reader) Fields(what string, keys map[string]func() error, optional ...string) error {
	if err := r.Want(Object, what); err != nil {
		return err
	}
	begin := r.Pos()
	known := make([]string, 0, len(keys))
	for k := range keys {
		known = append(known, k)
	}
	slices.Sort(known)
	seen := map[string]bool{}
	err := r.Object(func(key string) error {
		read, ok := keys[key]
		switch {
		case !ok:
			return r.Errorf(r.Pos(), "unknown key %q of %s%s", clip(key), what, spelling.Hint(spelling.Nearest(key, known)))
		case seen[key]:
			return r.Errorf(r.Pos(), "the key %q is there twice", key)
		}
		seen[key] = true
		return read()
	})
	if err != nil {
		return err
	}
	for _, k := range known {
		if !seen[k] && !slices.Contains(optional, k) {
			return r.Errorf(begin, "%s lacks the key %q", what, k)
		}
	}
	return nil
}

// Want checks the kind of the next value, which what names.
func (r *Reader) Want(kind Kind, what string) error {
	got, err := r.Peek()
	if err == nil && got != kind {
		return r.Errorf(r.Pos(), "%v; want %s, %v", got, what, kind)
	}
	return err
}
