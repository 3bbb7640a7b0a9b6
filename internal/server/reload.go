package server

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"

	"github.com/peterbourgon/ff/v3"
)

// levelFlag is the flag of the log that a reload changes.
const levelFlag = "log-level"

// reload opens the files of the logs again and takes the level of the log from the file of
// -config. It returns what it has read, and the settings that have changed in that file and
// hold after a restart only.
func (f *Flags) reload() (reloaded, restart []string, err error) {
	var errs []error
	if f.log.opened != nil {
		if err := f.log.opened.reopen(); err != nil {
			errs = append(errs, fmt.Errorf("open log file (-log-file): %w", err))
		} else {
			reloaded = append(reloaded, "log file")
		}
	}
	if f.access != nil && f.access.file != nil {
		if err := f.access.file.reopen(); err != nil {
			errs = append(errs, fmt.Errorf("open access log (-access-log-file): %w", err))
		} else {
			reloaded = append(reloaded, "access log")
		}
	}
	name := ""
	if config := f.Lookup("config"); config != nil {
		name = config.Value.String()
	}
	if name == "" || f.file == nil {
		return reloaded, nil, errors.Join(errs...)
	}
	now, err := readSettings(name)
	if err != nil {
		return reloaded, nil, errors.Join(append(errs, fmt.Errorf("read settings (-config): %w", err))...)
	}
	for _, one := range slices.Sorted(maps.Keys(union(f.file, now))) {
		before, had := f.file[one]
		after, has := now[one]
		switch {
		case f.ahead[one] || (had == has && before == after):
		case one == levelFlag && f.Lookup(levelFlag) != nil:
			if err := f.setLevel(cmp.Or(after, f.Lookup(levelFlag).DefValue)); err != nil {
				errs = append(errs, fmt.Errorf("%s in %q: invalid value %q: %w", levelFlag, name, after, err))
				continue
			}
			if f.file[one] = after; !has {
				delete(f.file, one)
			}
			reloaded = append(reloaded, levelFlag)
		default:
			restart = append(restart, one)
		}
	}
	return reloaded, restart, errors.Join(errs...)
}

func (f *Flags) setLevel(text string) error {
	var level logLevel
	if err := level.Set(text); err != nil {
		return err
	}
	f.log.current.Set(slog.Level(level))
	return nil
}

// readSettings returns the lines of a file of settings by their flags.
func readSettings(name string) (_ map[string]string, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	lines := map[string]string{}
	err = ff.PlainParser(io.Reader(file), func(name, value string) error {
		lines[name] = value
		return nil
	})
	return lines, err
}

// union returns the members of both maps.
func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
