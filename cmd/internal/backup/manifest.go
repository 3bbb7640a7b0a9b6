package backup

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// The bounds of a manifest.
const (
	// Format is the version of the form of backups.
	Format = 1
	// MaxManifest is how many bytes a manifest has at most: those of some 3 million
	// files.
	MaxManifest = 512 << 20
	// maxName is how many bytes a name has at most.
	maxName = 255
)

// Manifest describes a backup. It is written last, as backup.json.
type Manifest struct {
	// Format is the version of the form, [Format].
	Format int `json:"format"`
	// Owner is the owner of the folder, one of those in package datafolder.
	Owner string `json:"owner"`
	// Version is that of the program that created the backup.
	Version string `json:"version"`
	// Time is when the backup began, in UTC.
	Time time.Time `json:"time"`
	// Files are all files but the manifest, in the order of the stream.
	Files []File `json:"files"`
}

// File is a file of a backup.
type File struct {
	// Name is relative to the folder, with slashes.
	Name string `json:"name"`
	// Size is the length in bytes.
	Size int64 `json:"size"`
	// SHA256 is the digest of the bytes, 64 lower-case hex digits.
	SHA256 string `json:"sha256"`
}

// ParseManifest reads and checks a manifest.
func ParseManifest(data []byte) (Manifest, error) {
	var found struct {
		Format  int    `json:"format"`
		Version string `json:"version"`
	}
	if err := json.Unmarshal(data, &found); err != nil {
		return Manifest{}, fmt.Errorf("read %s: it is not complete, or no manifest: %w", ManifestName, err)
	}
	if found.Format > Format { // it may have members that are not known here
		return Manifest{}, fmt.Errorf("read %s: a newer version (%q) created this backup, in format %d, and this one reads up to %d; "+
			"use that version", ManifestName, found.Version, found.Format, Format)
	}
	var m Manifest
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&m)
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("read %s: %w", ManifestName, err)
	}
	return m, nil
}

func (m Manifest) check() error {
	owner, ok := findLayout(m.Owner)
	switch {
	case m.Format < 1:
		return fmt.Errorf("format: expected 1 to %d, got %d", Format, m.Format)
	case !ok:
		return fmt.Errorf("owner: %.40q is not known; a newer version may have created this backup", m.Owner)
	case m.Time.IsZero():
		return errors.New("time: it is missing")
	case len(m.Files) == 0:
		return errors.New("files: there are none")
	}
	seen := make(map[string]bool, len(m.Files))
	for _, f := range m.Files {
		err := f.check()
		if err == nil && !owner.has(f.Name) {
			err = fmt.Errorf("a folder of %s has no such file; a newer version may have created this backup", m.Owner)
		}
		if err != nil {
			return fmt.Errorf("file %.*q: %w", maxName, f.Name, err)
		}
		if seen[f.Name] {
			return fmt.Errorf("file %q: it is listed twice", f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}

func (f File) check() error {
	if err := CheckName(f.Name); err != nil {
		return err
	}
	digest, err := hex.DecodeString(f.SHA256)
	switch {
	case f.Size < 0:
		return fmt.Errorf("size: %d is negative", f.Size)
	case err != nil || len(digest) != 32 || f.SHA256 != strings.ToLower(f.SHA256):
		return errors.New("sha256: expected 64 lower-case hex digits")
	}
	return nil
}

// CheckName returns an error for a name that does not stay below the folder, on any
// system, or that is not in its shortest form.
func CheckName(name string) error {
	native := filepath.FromSlash(name)
	switch {
	case len(name) > maxName:
		return fmt.Errorf("its name has more than %d bytes", maxName)
	case !filepath.IsLocal(native) || strings.ContainsAny(name, "\\:\x00") || name == "." || filepath.Clean(native) != native:
		return errors.New("its name is not that of a file below the folder")
	}
	return nil
}
