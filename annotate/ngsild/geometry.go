package ngsild

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
)

const (
	geosparql = "http://www.opengis.net/ont/geosparql#"
	crs84     = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"
	epsg4326  = "http://www.opengis.net/def/crs/EPSG/0/4326"
)

// geometry is a geometry of GeoJSON (RFC 7946 section 3.1). Its type is not
// GeometryCollection, which NGSI-LD excludes (section 4.7.1).
type geometry struct {
	Type        string `json:"type"`
	Coordinates any    `json:"coordinates"`
}

// depths are how many arrays there are around a number in the coordinates of a type.
func depths(kind string) int {
	switch kind {
	case "Point":
		return 1
	case "MultiPoint", "LineString":
		return 2
	case "Polygon", "MultiLineString":
		return 3
	case "MultiPolygon":
		return 4
	}
	return 0
}

// isGeometry reports whether the literals of a datatype are geometries (OGC GeoSPARQL 1.1
// section 8.5).
func isGeometry(datatype string) bool {
	return datatype == geosparql+"wktLiteral" || datatype == geosparql+"geoJSONLiteral"
}

// parseGeometry returns the geometry that a literal is.
func parseGeometry(t rdf.Term) (geometry, error) {
	if t.Datatype == geosparql+"wktLiteral" {
		return readWKT(t.Value)
	}
	return readGeoJSON(t.Value)
}

func readGeoJSON(text string) (g geometry, err error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&g); err != nil {
		return g, fmt.Errorf("not a GeoJSON geometry: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return g, errors.New("not a GeoJSON geometry: something follows it")
	}
	depth := depths(g.Type)
	if depth == 0 {
		return g, fmt.Errorf("not a geometry of NGSI-LD: the type is %q", g.Type)
	}
	return g, checkCoordinates(g.Coordinates, depth)
}

// checkCoordinates returns why something is not the coordinates of a geometry.
func checkCoordinates(value any, depth int) error {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return fmt.Errorf("the coordinates of a geometry are arrays that are not empty, got %.60v", value)
	}
	if depth > 1 {
		for _, element := range list {
			if err := checkCoordinates(element, depth-1); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) != 2 && len(list) != 3 {
		return fmt.Errorf("a position has 2 or 3 numbers, got %d", len(list))
	}
	for _, n := range list {
		if _, ok := n.(json.Number); !ok {
			return fmt.Errorf("a position has numbers, got %.60v", n)
		}
	}
	return nil
}

// readWKT reads Well-Known Text (OGC 06-103r4 section 7), after an IRI of its reference
// system. Without one that is CRS84, as in GeoJSON.
func readWKT(text string) (geometry, error) {
	swapped := false
	if system, rest, ok := strings.Cut(strings.TrimSpace(text), ">"); ok && strings.HasPrefix(system, "<") {
		switch text = rest; strings.Replace(system[1:], "https:", "http:", 1) {
		case crs84:
		case epsg4326:
			swapped = true // latitude comes first there
		default:
			return geometry{}, fmt.Errorf("its reference system is %.100q; expected %s or %s", system[1:], crs84, epsg4326)
		}
	}
	p := wkt{rest: strings.TrimSpace(text), swapped: swapped}
	word := strings.ToUpper(p.word())
	at := slices.IndexFunc(kinds(), func(kind string) bool { return strings.ToUpper(kind) == word })
	if at < 0 {
		return geometry{}, fmt.Errorf("not a geometry of NGSI-LD: %.60q", text)
	}
	kind := kinds()[at]
	switch modifier := strings.ToUpper(p.word()); modifier {
	case "":
	case "Z":
		p.numbers = 3
	default:
		return geometry{}, fmt.Errorf("a geometry with %q cannot be expressed in GeoJSON", modifier)
	}
	coordinates, err := p.list(depths(kind), kind == "MultiPoint")
	if err == nil && p.rest != "" {
		err = fmt.Errorf("expected the end, got %.60q", p.rest)
	}
	if err == nil {
		err = checkCoordinates(coordinates, depths(kind))
	}
	if err != nil {
		return geometry{}, fmt.Errorf("not Well-Known Text: %w", err)
	}
	return geometry{kind, coordinates}, nil
}

func kinds() []string {
	return []string{"Point", "MultiPoint", "LineString", "Polygon", "MultiLineString", "MultiPolygon"}
}

// wkt is what is left of a text.
type wkt struct {
	rest    string
	swapped bool
	numbers int // in a position; 0 while it is open
}

// word takes the letters at the beginning.
func (p *wkt) word() string {
	end := strings.IndexFunc(p.rest, func(c rune) bool { return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') })
	if end < 0 {
		end = len(p.rest)
	}
	word := p.rest[:end]
	p.rest = strings.TrimSpace(p.rest[end:])
	return word
}

// take takes a character, and white space after it.
func (p *wkt) take(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = strings.TrimSpace(p.rest[1:])
	return true
}

// list reads arrays of a depth. Positions of a MultiPoint may be in parentheses of their own.
func (p *wkt) list(depth int, loose bool) ([]any, error) {
	if depth == 1 && !loose {
		if !p.take('(') {
			return nil, fmt.Errorf("expected '(', got %.60q", p.rest)
		}
		position, err := p.position()
		if err == nil && !p.take(')') {
			err = fmt.Errorf("expected ')', got %.60q", p.rest)
		}
		return position, err
	}
	if !p.take('(') {
		return nil, fmt.Errorf("expected '(', got %.60q", p.rest)
	}
	var elements []any
	for {
		var element []any
		var err error
		switch {
		case depth > 2:
			element, err = p.list(depth-1, false)
		case loose && strings.HasPrefix(p.rest, "("):
			element, err = p.list(1, false)
		default:
			element, err = p.position()
		}
		if err != nil {
			return nil, err
		}
		elements = append(elements, element)
		switch {
		case p.take(','):
		case p.take(')'):
			return elements, nil
		default:
			return nil, fmt.Errorf("expected ',' or ')', got %.60q", p.rest)
		}
	}
}

// position reads two or three numbers.
func (p *wkt) position() ([]any, error) {
	var position []any
	for {
		end := strings.IndexAny(p.rest, " \t\r\n,()")
		if end < 0 {
			end = len(p.rest)
		}
		if end == 0 {
			break
		}
		n, err := strconv.ParseFloat(p.rest[:end], 64)
		if err != nil || !numeral.MatchString(p.rest[:end]) {
			return nil, fmt.Errorf("expected a number, got %.60q", p.rest[:end])
		}
		position = append(position, json.Number(strconv.FormatFloat(n, 'f', -1, 64)))
		p.rest = strings.TrimSpace(p.rest[end:])
	}
	if p.numbers == 0 {
		p.numbers = len(position)
	}
	if len(position) != p.numbers {
		return nil, fmt.Errorf("a position has %d numbers, and one before it %d", len(position), p.numbers)
	}
	if p.swapped && len(position) > 1 {
		position[0], position[1] = position[1], position[0]
	}
	return position, nil
}
