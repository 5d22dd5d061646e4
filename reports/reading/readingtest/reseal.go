package readingtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Reseal changes the manifest of a run folder and gives it the digests of the files as they
// are now, so that what else is checked shows.
func Reseal(folder string, change func(*runfolder.Manifest)) error {
	path := filepath.Join(folder, runfolder.ManifestFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var m runfolder.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	for name := range m.Files {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		m.Files[name] = runfolder.FileDigest{Bytes: int64(len(content)), SHA256: fmt.Sprintf("%x", sha256.Sum256(content))}
	}
	change(&m)
	none := strings.Repeat("0", hex.EncodedLen(sha256.Size))
	m.Digest = none
	if text, err = json.Marshal(m); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strings.Replace(string(text), `"digest":"`+none, fmt.Sprintf(`"digest":"%x`, sha256.Sum256(text)), 1)), 0o644)
}
