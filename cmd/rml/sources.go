package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/relational"
	"github.com/iotenablers/enablers/annotate/rml/relational/mysql"
	"github.com/iotenablers/enablers/annotate/rml/relational/postgres"
	"github.com/iotenablers/enablers/annotate/rml/relational/sqlite"
	"github.com/iotenablers/enablers/annotate/rml/web"
	"github.com/iotenablers/enablers/internal/cli"
)

// run maps the files and databases of a mapping.
func (s *mapSettings) run(ctx context.Context, mapper *rml.Mapper, out io.Writer, stdin io.Reader) (err error) {
	databases := relational.New([]relational.Driver{sqlite.Driver(), postgres.Driver(), mysql.Driver()},
		&relational.Options{URL: s.database})
	defer func() { err = errors.Join(err, databases.Close()) }()
	files := rml.LocalFiles(cmp.Or(s.dir, filepath.Dir(s.file)), stdin)
	files.Query = databases.Query
	if s.network != "" {
		client, err := s.client()
		if err != nil {
			return err
		}
		defer func() { _ = client.Close() }() // only idle connections
		files.Fetch = client.Fetch
	}
	return mapper.Run(ctx, out, files)
}

// client returns the client for the origins of -network.
func (s *mapSettings) client() (*web.Client, error) {
	opts := &web.Options{Credentials: s.credentials}
	if s.network != "any" {
		opts.Origins = strings.Split(s.network, ",")
	}
	client, err := web.New(opts)
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("-network, -credential: %w", err))
	}
	return client, nil
}

// credential reads a value of -credential. The credential itself is not on the command line, which
// other users of the machine can read.
func (s *mapSettings) credential(text string) error {
	at := strings.LastIndexByte(text, '=')
	if at < 0 {
		return errors.New("expected ORIGIN=VARIABLE, such as https://example.org=TOKEN")
	}
	origin, variable := text[:at], text[at+1:]
	value := os.Getenv(variable)
	if value == "" {
		return fmt.Errorf("the environment has no variable %q", variable)
	}
	if s.credentials == nil {
		s.credentials = make(map[string]string)
	}
	s.credentials[origin] = value
	return nil
}
