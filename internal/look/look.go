// Package look holds what all web pages share: the head of a page, the icon, and the style
// sheet with colours for light and dark, type, header, tables, forms, states and charts. A
// page serves the files below its own address, with a small sheet of its own.
//
// What a page does with the sheet:
//
//   - class list on a table makes it a card, and a list of cards on a phone, where
//     every cell is labelled by its data-label;
//   - class field on a label, or a paragraph around label and input, makes a field of a
//     form; class buttons makes the row of buttons that ends it;
//   - class badge with a dot inside shows a state in words and a colour. The page's own
//     sheet says which, with the property --tone: [data-state="up"] { --tone: var(--good); };
//   - class empty is a place where nothing is yet, with what to do next and a row of buttons;
//   - class notice is a sentence about the last action; see internal/shell for the header,
//     the sections and messages;
//   - id live is the line that says whether the page is up to date, its data-state
//     running or failed; setLive of internal/shell writes it;
//   - colours are only those of the sheet, so that contrast holds in light and dark.
package look

import "embed"

// Files are "look.css", "swagger.css" for pages that show Swagger UI, and "icon.svg".
//
//go:embed look.css swagger.css icon.svg
var Files embed.FS

// Head returns the template "head" that begins every page: what browsers have to know,
// the title of the view, the icon, and the style sheets look.css and page.css. The assets
// are at an address with a slash at its end, which may begin with an action of the
// template, such as {{.Root}}page/. The page goes on with its own links and scripts, or
// with </head>.
func Head(assets string) string {
	return `{{define "head" -}}
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{.Title}}</title>
<link rel="icon" href="` + assets + `icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="` + assets + `look.css">
<link rel="stylesheet" href="` + assets + `page.css">
{{- end}}`
}
