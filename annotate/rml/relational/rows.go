package relational

import (
	"context"
	"database/sql"
	"io"

	"github.com/iotenablers/enablers/annotate/rml"
)

// rows are the rows of a result.
type rows struct {
	result *sql.Rows
	tx     *sql.Tx
	clean  func(error) error
	cancel func() // ends the query, and frees what waits for its end
	atEnd  bool   // whether the last row was read
	dest   []any
	values []*value // by column of the query; two may be the same
	text   []byte
}

// run sends a query. Either wanted names columns of its result, or kinds says
// what its columns are, all of which are wanted.
func (db *database) run(ctx context.Context, query string, wanted []rml.Column, kinds []column) (*rows, error) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(db.closed, cancel)
	r := &rows{clean: db.clean, cancel: func() { stop(); cancel() }}
	if err := db.start(ctx, r, query, wanted, kinds); err != nil {
		_ = r.Close() // the error that led here says more
		return nil, err
	}
	return r, nil
}

func (db *database) start(ctx context.Context, r *rows, query string, wanted []rml.Column, kinds []column) (err error) {
	if db.driver.ReadOnly {
		if r.tx, err = db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}); err == nil {
			r.result, err = r.tx.QueryContext(ctx, query)
		}
	} else {
		r.result, err = db.QueryContext(ctx, query)
	}
	if err != nil {
		return err
	}
	if kinds != nil {
		for _, c := range kinds {
			v := &value{rows: r, column: c}
			r.dest = append(r.dest, v)
			r.values = append(r.values, v)
		}
		if len(kinds) == 0 {
			r.dest = []any{discard{}}
		}
		return nil
	}
	columns, err := readColumns(r.result)
	if err != nil {
		return err
	}
	for range columns {
		r.dest = append(r.dest, discard{})
	}
	for _, w := range wanted {
		i, err := position(columns, w.Name)
		if err != nil {
			return err
		}
		v, named := r.dest[i].(*value)
		if !named {
			v = &value{rows: r, column: columns[i]}
			r.dest[i] = v
		}
		r.values = append(r.values, v)
	}
	return nil
}

// Next reads the next row.
func (r *rows) Next(row []rml.Cell) error {
	if !r.result.Next() {
		if err := r.result.Err(); err != nil {
			return r.clean(err)
		}
		r.atEnd = true
		return io.EOF
	}
	r.text = r.text[:0]
	if err := r.result.Scan(r.dest...); err != nil {
		return r.clean(err)
	}
	for i, v := range r.values {
		row[i] = rml.Cell{Text: r.text[v.start:v.end:v.end], Kind: v.is}
	}
	return nil
}

// Close ends the query. Rows that were not read are not asked for: the drivers would read them to the end, unless the
// context of the query has ended.
func (r *rows) Close() error {
	defer r.cancel()
	if !r.atEnd {
		r.cancel()
	}
	var err error
	if r.result != nil {
		err = r.result.Close()
	}
	if r.tx != nil {
		_ = r.tx.Rollback() // it has only read, and the end of the context rolls it back too
	}
	if !r.atEnd {
		return nil // it would say that the query was ended
	}
	return r.clean(err)
}

// discard takes a value that the mapping does not name.
type discard struct{}

// Scan implements sql.Scanner.
func (discard) Scan(any) error { return nil }
