package regress

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"

	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// watch records the content of an experiment's text and of the files that it names, for
// Watched. The text of an embedded experiment does not change.
func (c *Campaign) watch(source string, text []byte, files []string) error {
	add := func(f trial.File) {
		if !slices.Contains(c.files, f) {
			c.files = append(c.files, f)
		}
	}
	if !slices.Contains(experiment.Names(), source) {
		name, err := filepath.Abs(source)
		if err != nil {
			return failure.Infrastructure(err)
		}
		sum := sha256.Sum256(text)
		add(trial.File{Name: name, SHA256: hex.EncodeToString(sum[:])})
	}
	for _, name := range files {
		digest, err := trial.Digest(context.Background(), name) // Prepare has no context
		if err != nil {
			return failure.Configuration(err)
		}
		add(trial.File{Name: name, SHA256: digest})
	}
	return nil
}

// Watched returns a runner that ends the campaign when the text or the files of an
// experiment are other ones than when the campaign was prepared; see trial.Watch.
func (c *Campaign) Watched(r trial.Runner) trial.Runner { return trial.Watch(r, c.files) }
