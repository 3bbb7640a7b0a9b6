package supernode

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
)

// Files of a FAB.
const (
	contentFile = ".info/CONTENT"
	projectFile = "pyproject.toml"
	maxProject  = 1 << 20
	maxManifest = 8 << 20
)

// CheckFAB checks a Flower App Bundle: that it is a zip archive of bounded size whose
// files have the hashes and sizes of its list ".info/CONTENT", that no name leads out of
// the archive, and that its pyproject.toml names an app. It returns "publisher/name" and
// the version.
func CheckFAB(content []byte) (id, version string, err error) {
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return "", "", fmt.Errorf("check a FAB: %w", err)
	}
	if len(archive.File) > mostFiles {
		return "", "", fmt.Errorf("check a FAB: it has %d files, at most %d are allowed", len(archive.File), mostFiles)
	}
	files := map[string]*zip.File{}
	for _, file := range archive.File {
		if err := checkName(file.Name); err != nil {
			return "", "", fmt.Errorf("check a FAB: %w", err)
		}
		if files[file.Name] != nil {
			return "", "", fmt.Errorf("check a FAB: it has two files %.100q", file.Name)
		}
		files[file.Name] = file
	}
	id, version, err = checkFiles(files)
	if err != nil {
		return "", "", fmt.Errorf("check a FAB: %w", err)
	}
	return id, version, nil
}

// checkName refuses names that lead out of the folder in which the app is installed.
func checkName(name string) error {
	clean := strings.TrimSuffix(name, "/")
	if clean == "" || path.IsAbs(clean) || path.Clean(clean) != clean || clean == ".." || strings.HasPrefix(clean, "../") ||
		strings.ContainsAny(clean, "\\\x00\n:") {
		return fmt.Errorf("the name %.100q is not one of a file in the app", name)
	}
	return nil
}

// checkFiles compares the files with their list.
func checkFiles(files map[string]*zip.File) (id, version string, err error) {
	manifest := files[contentFile]
	if manifest == nil {
		return "", "", fmt.Errorf("it has no %s: it is not made by `flwr build`", contentFile)
	}
	var list bytes.Buffer
	if _, err := unzip(manifest, &list, maxManifest); err != nil {
		return "", "", err
	}
	left := int64(maxBundle)
	listed := map[string]bool{contentFile: true}
	var project []byte
	for line := range strings.SplitSeq(strings.TrimSpace(list.String()), "\n") {
		name, sum, bits, err := readListed(strings.TrimSuffix(line, "\r"))
		if err != nil {
			return "", "", err
		}
		file := files[name]
		if file == nil || listed[name] {
			return "", "", fmt.Errorf("%s lists %.100q, which is not there, or twice", contentFile, name)
		}
		listed[name] = true
		digest := sha256.New()
		var text bytes.Buffer
		into := io.Writer(digest)
		if name == projectFile {
			into = io.MultiWriter(digest, &text)
		}
		limit := left
		if name == projectFile {
			limit = min(left, maxProject)
		}
		size, err := unzip(file, into, limit)
		if err != nil {
			return "", "", err
		}
		left -= size
		if size*8 != bits || hex.EncodeToString(digest.Sum(nil)) != sum {
			return "", "", fmt.Errorf("%.100q has other content than %s says", name, contentFile)
		}
		if name == projectFile {
			project = text.Bytes()
		}
	}
	if left := files[projectFile]; left != nil && !listed[projectFile] { // as releases up to 1.20 at least leave it
		var text bytes.Buffer
		if _, err := unzip(left, &text, maxProject); err != nil {
			return "", "", err
		}
		listed[projectFile], project = true, text.Bytes()
	}
	for name := range files {
		if !listed[name] && !strings.HasSuffix(name, "/") {
			return "", "", fmt.Errorf("%s does not list %.100q", contentFile, name)
		}
	}
	if project == nil {
		return "", "", fmt.Errorf("it has no %s", projectFile)
	}
	return readProject(project)
}

// readListed reads a line of the list: the name, the SHA-256 and the number of bits.
func readListed(line string) (name, sum string, bits int64, err error) {
	at := strings.LastIndexByte(line, ',')
	if at > 0 {
		bits, err = strconv.ParseInt(line[at+1:], 10, 64)
		line = line[:at]
	}
	before := strings.LastIndexByte(line, ',')
	if at <= 0 || err != nil || before <= 0 {
		return "", "", 0, fmt.Errorf("%s has the line %.100q, expected name, SHA-256 and bits", contentFile, line)
	}
	return line[:before], line[before+1:], bits, nil
}

// unzip writes the content of a file, at most limit bytes, whatever the archive says of it.
func unzip(file *zip.File, into io.Writer, limit int64) (int64, error) {
	from, err := file.Open()
	if err != nil {
		return 0, fmt.Errorf("file %.100q: %w", file.Name, err)
	}
	defer from.Close()
	n, err := io.Copy(into, io.LimitReader(from, limit+1))
	if err == nil && n > limit {
		err = errors.New("the app is larger than is allowed")
	}
	if err != nil {
		return n, fmt.Errorf("file %.100q: %w", file.Name, err)
	}
	return n, nil
}
