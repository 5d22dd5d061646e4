package revision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/csiglab/csiglab/internal/own"
)

// Version is the content of a file as of one revision.
type Version struct {
	Commit Commit // the zero value: it is not committed
	Date   time.Time
	Text   []byte
}

// Versions returns the contents that a file has had in git, the oldest first, and last the present
// one if it is no committed one. A file that git does not know, or a machine without git, has the
// present one alone. shallow says that older ones may be missing: the repository is a shallow
// clone. most bounds the bytes of each.
func Versions(ctx context.Context, file string, most int64) (all []Version, shallow bool, err error) {
	text, err := own.ReadFile(file, most)
	if err != nil {
		return nil, false, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, false, err
	}
	if all, shallow, err = committed(ctx, file, most); err != nil {
		return nil, false, err
	}
	if n := len(all); n == 0 || !bytes.Equal(all[n-1].Text, text) {
		all = append(all, Version{Date: info.ModTime(), Text: text})
	}
	return all, shallow, nil
}

// committed returns the versions of a file in git; none if there are none.
func committed(ctx context.Context, file string, most int64) (all []Version, shallow bool, err error) {
	folder, name := filepath.Dir(file), filepath.Base(file)
	r, err := openRepository(ctx, folder)
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	if err != nil { // no repository
		return nil, false, nil
	}
	in := filepath.ToSlash(filepath.Join(r.Prefix, name))
	list, err := r.log(ctx, "--reverse", "--diff-filter=AMT", "--", ":(top,literal)"+in)
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	if err != nil { // a repository without a commit
		return nil, false, nil
	}
	for _, c := range list {
		text, err := git(ctx, r.Top, "cat-file", "blob", c.Hash+":"+in)
		switch {
		case ctx.Err() != nil:
			return nil, false, ctx.Err()
		case err != nil:
			return nil, false, fmt.Errorf("%s as of %s: %w", file, c.Short, err)
		case int64(len(text)) > most:
			return nil, false, fmt.Errorf("%s as of %s: %w", file, c.Short, errors.New("it is too large"))
		}
		all = append(all, Version{Commit: c, Date: c.Committed, Text: text})
	}
	return all, r.shallow(ctx), nil
}
