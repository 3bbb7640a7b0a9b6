package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/relational"
	"github.com/iotenablers/enablers/annotate/rml/relational/mysql"
	"github.com/iotenablers/enablers/annotate/rml/relational/postgres"
	"github.com/iotenablers/enablers/annotate/rml/relational/sqlite"
)

// run maps the files and databases of a mapping.
func (s *mapSettings) run(ctx context.Context, mapper *rml.Mapper, out io.Writer, stdin io.Reader) (err error) {
	databases := relational.New([]relational.Driver{sqlite.Driver(), postgres.Driver(), mysql.Driver()},
		&relational.Options{URL: s.database})
	defer func() { err = errors.Join(err, databases.Close()) }()
	files := rml.LocalFiles(cmp.Or(s.dir, filepath.Dir(s.file)), stdin)
	files.Query = databases.Query
	return mapper.Run(ctx, out, files)
}
