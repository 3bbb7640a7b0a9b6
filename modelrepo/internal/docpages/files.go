package docpages

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"path"
	"strings"
)

// Files are the source files of a [Book] while they are received. The zero value
// is ready for use.
type Files struct {
	files map[string][]byte
	size  int64
}

// All returns the files by their paths.
func (f *Files) All() map[string][]byte { return f.files }

// maxEntries is how many entries of an archive are read, folders included.
const maxEntries = 1000

// isArchive reports whether a file is a tar archive, by its name.
func isArchive(name string) bool {
	return strings.HasSuffix(name, ".tar.gz") || fileExtension(name) == ".tgz" || fileExtension(name) == ".tar"
}

// Add reads one file, or the files of an archive if the name ends in .tar,
// .tar.gz or .tgz. The error is an [*Error] if the file cannot become documentation.
func (f *Files) Add(name string, from io.Reader) error {
	if isArchive(name) {
		return f.unpack(from, fileExtension(name) != ".tar")
	}
	return f.file(name, from)
}

// file reads a file.
func (f *Files) file(name string, from io.Reader) error {
	if fault := FileNameFault(name); fault != "" {
		return invalid("The file name %.250q is not allowed: %s.", name, fault)
	}
	if _, twice := f.files[name]; twice {
		return invalid("The file '%s' is there twice.", name)
	}
	if len(f.files) == maxFiles {
		return tooManyFiles()
	}
	data, err := io.ReadAll(io.LimitReader(from, MaxSource-f.size+1))
	if err != nil {
		return err
	}
	if f.size += int64(len(data)); f.size > MaxSource {
		return TooLarge()
	}
	if f.files == nil {
		f.files = map[string][]byte{}
	}
	f.files[name] = data
	return nil
}

// unpack reads the files of a tar archive into memory. It decompresses no more than
// documentation may have.
func (f *Files) unpack(from io.Reader, compressed bool) error {
	if compressed {
		unzipped, err := gzip.NewReader(from)
		if err != nil {
			return broken(err)
		}
		from = unzipped
	}
	// Headers and padding are extra.
	archive := tar.NewReader(io.LimitReader(from, MaxSource+maxEntries*(4<<10)))
	for entries := 0; ; entries++ {
		header, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return broken(err)
		}
		if entries == maxEntries {
			return tooManyFiles()
		}
		switch header.Typeflag {
		case tar.TypeDir, tar.TypeXGlobalHeader:
			continue
		case tar.TypeReg:
		default:
			return invalid("The archive's entry %.250q is neither a file nor a folder.", header.Name)
		}
		name := header.Name
		for strings.HasPrefix(name, "./") {
			name = name[2:]
		}
		if strings.HasPrefix(path.Base(name), "._") {
			continue // added by macOS
		}
		if err := f.file(name, archive); err != nil {
			return broken(err)
		}
	}
}

// broken returns why an archive cannot be read.
func broken(err error) error {
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	return invalid("The archive is malformed or incomplete.")
}
