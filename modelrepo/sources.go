package modelrepo

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"path"
	"strings"
)

// sources are the files of documentation as they come in.
type sources struct {
	op    string
	at    Path
	files map[string][]byte
	size  int64
}

// maxEntries is how many entries of an archive are looked at, folders included.
const maxEntries = 1000

// isArchive reports whether a file is a tar archive, by its name.
func isArchive(name string) bool {
	return strings.HasSuffix(name, ".tar.gz") || fileExtension(name) == ".tgz" || fileExtension(name) == ".tar"
}

// add reads one file, or the files of an archive.
func (s *sources) add(name string, from io.Reader) error {
	if isArchive(name) {
		return s.unpack(from, fileExtension(name) != ".tar")
	}
	return s.file(name, from)
}

// file reads a file.
func (s *sources) file(name string, from io.Reader) error {
	if fault := fileNameFault(name); fault != "" {
		return refuse(s.op, s.at, ErrInvalid, "The file name %.250q is not allowed: %s.", name, fault)
	}
	if _, twice := s.files[name]; twice {
		return refuse(s.op, s.at, ErrInvalid, "The file '%s' is there twice.", name)
	}
	if len(s.files) == maxFiles {
		return tooManyFiles(s.op, s.at)
	}
	data, err := io.ReadAll(io.LimitReader(from, maxSource-s.size+1))
	if err != nil {
		return err
	}
	if s.size += int64(len(data)); s.size > maxSource {
		return sourceTooLarge(s.op, s.at)
	}
	s.files[name] = data
	return nil
}

// unpack reads the files of a tar archive. Nothing is written anywhere, and no
// more is decompressed than documentation may have.
func (s *sources) unpack(from io.Reader, compressed bool) error {
	if compressed {
		unzipped, err := gzip.NewReader(from)
		if err != nil {
			return s.broken(err)
		}
		from = unzipped
	}
	// Headers and padding come on top of the files.
	archive := tar.NewReader(io.LimitReader(from, maxSource+maxEntries*(4<<10)))
	for entries := 0; ; entries++ {
		header, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return s.broken(err)
		}
		if entries == maxEntries {
			return tooManyFiles(s.op, s.at)
		}
		switch header.Typeflag {
		case tar.TypeDir, tar.TypeXGlobalHeader:
			continue
		case tar.TypeReg:
		default:
			return refuse(s.op, s.at, ErrInvalid, "The archive's entry %.250q is neither a file nor a folder.", header.Name)
		}
		name := header.Name
		for strings.HasPrefix(name, "./") {
			name = name[2:]
		}
		if strings.HasPrefix(path.Base(name), "._") {
			continue // what macOS adds
		}
		if err := s.file(name, archive); err != nil {
			return s.broken(err)
		}
	}
}

// broken says that an archive cannot be read, unless it was refused.
func (s *sources) broken(err error) error {
	var refusal *Error
	if errors.As(err, &refusal) {
		return err
	}
	return refuse(s.op, s.at, ErrInvalid, "The archive is malformed or incomplete.")
}
