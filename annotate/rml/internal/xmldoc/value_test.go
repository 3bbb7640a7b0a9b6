package xmldoc_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/xmldoc"
)

// groups is a document whose nodes repeat across parents.
const groups = `<r><g i="1"><a t="x">1</a><a t="y">2</a><a t="x">3</a></g><g i="2"><a t="y">4</a><a ` +
	`t="x">5</a><b>2</b></g><n><g i="3"><a t="x">6</a></g></n></r>`

// groupValues are expressions on the document, from its element, and their
// values with spaces between. Where it matters XPath has it otherwise than
// the XPath library.
var groupValues = map[string]string{
	"g/a[@t='x'][1]":                       "1 5",
	"g/a[1][@t='x']":                       "1",
	"g/a[@t='x'][last()]":                  "3 5",
	"g/a[last()]":                          "3 5",
	"g/a[position()<3]":                    "1 2 4 5",
	"g/a[position()>1][1]":                 "2 5",
	"//a[@t='x'][1]":                       "1 5 6",
	"//g/a[@t='x'][1]":                     "1 5 6",
	"//g[a=2]/@i":                          "1",
	"//g[2=a]/@i":                          "1",
	"//g[a=b]/@i":                          "",
	"//g[a>3]/@i":                          "2 3",
	"//g[3<a]/@i":                          "2 3",
	"//g[a='4']/a[2]":                      "5",
	"(g/a)[2]":                             "2",
	"(g/a[@t='x'])[2]":                     "3",
	"(//a)[last()]":                        "6",
	"g[2]/a[2]/preceding-sibling::a[1]":    "4",
	"g[1]/a[3]/preceding-sibling::*[1]":    "2",
	"g[1]/a[3]/preceding-sibling::*[2]":    "1",
	"//a[.='6']/ancestor::*[1]/@i":         "3",
	"//a[.='6']/preceding::a[1]":           "5",
	"g[1]/following::a[1]":                 "4",
	"g[a[@t='y']]/@i":                      "1 2",
	"g[count(a)=2]/@i":                     "2",
	"g[count(a[@t='x'])=1]/@i":             "2",
	"g[not(b)]/a[2]":                       "2",
	"g[@i=2]/a | g[@i=1]/a[1]":             "1 4 5",
	"g/a[../@i='2']":                       "4 5",
	"g/a[../../n/g/@i=3][1]":               "1 4",
	"concat(g[1]/a[2],g[2]/a[1])":          "24",
	"count(g[a='4'])+count(g)":             "3",
	"g[a[1]=../g[2]/b]/@i":                 "",
	"g[a[2]=../g[2]/b]/@i":                 "1",
	"count(g[1]/a)=3 and count(g)=2":       "true",
	"g[1]/a[2]='2' or false()":             "true",
	"string(g[2]/a[last()])":               "5",
	"g[2]/a[last()-1]":                     "4",
	"a | b":                                "",
	"boolean(g[3])":                        "false",
	"true()=g":                             "true",
	"g=true()":                             "true",
	"zzz=false()":                          "true",
	"1=g/a":                                "true",
	"2=g/a":                                "true",
	"g/a=g/b":                              "true",
	"g/a!=g/b":                             "true",
	"substring('12345', 1.5, 2.6)":         "234",
	"substring('12345', 0, 3)":             "12",
	"substring('12345', 2)":                "2345",
	"substring('żółw', 2, 2)":              "ół",
	"string-length('żółw')":                "4",
	"translate('żółw','ó','o')":            "żołw",
	"round(-2.5)":                          "-2",
	"round(2.5)":                           "3",
	"floor(-1.5)":                          "-2",
	"5 mod -2":                             "1",
	"-5 mod 2":                             "-1",
	"5.5 mod 2":                            "1.5",
	"1 - 1 - 1":                            "-1",
	"2 + 3 * 4":                            "14",
	"- (1)":                                "-1",
	"--1":                                  "1",
	"number('  12 ')":                      "12",
	"number('1e3')":                        "1000",
	"number('+1')":                         "1",
	"number(true())":                       "1",
	"string(1000000)":                      "1000000",
	"string(0.1)":                          "0.1",
	"string(g)":                            "123",
	"string(1=1)":                          "true",
	"normalize-space(' a \n b ')":          "a b",
	"sum(g/a)":                             "15",
	"starts-with('abc','')":                "true",
	"contains('','')":                      "true",
	"substring-after('abc','b')":           "c",
	"substring-before('abc','z')":          "",
	"g[position()=last()]/@i":              "2",
	"g[1]/self::g/@i":                      "1",
	"g[1]/self::a":                         "",
	"n/descendant-or-self::*/@i":           "3",
	"n//self::g/@i":                        "3",
	"//*[@i and a]/@i":                     "1 2 3",
	"//*[name()='b']":                      "2",
	"g/@i[.='2']":                          "2",
	"g/@*[1]":                              "1 2",
	"g/a[@t][2]":                           "2 5",
	"g/*[self::a or self::b][3]":           "3 2",
	"g[a]/a[.=../b]":                       "",
	"g[1]/a[@t=../../g[2]/a[1]/@t]":        "2",
	"n/g/../../g[1]/a[1]":                  "1",
	"(g | n)/a":                            "1 2 3 4 5",
	"(g)[1]/a[1]":                          "1",
	"(g/a)[@t='x'][2]":                     "3",
	"g/a[not(@t=preceding-sibling::a/@t)]": "1 2 4 5",
	"g/a[count(preceding-sibling::a)=1]":   "2 5",
	"g/a[following-sibling::a][1]":         "1 4",
	"text()":                               "",
	"g[2]/a[2]/text()":                     "5",
	"g[contains(@i,'1')]/a[1]":             "1",
	"g[concat(a[1],@i)='11']/@i":           "1",
	"g[concat(@i,a[1])='11']/@i":           "1",
	"g[string-length(a[1])=1]/@i":          "1 2",
	"g[a[1] and a[2]='2']/@i":              "1",
	"g[a[2]='2' and @i='1']/@i":            "1",
	"@x":                                   "",
	"not(g[9])":                            "true",
	"g['']":                                "",
	"g['a']/@i":                            "1 2",
	"g[0]":                                 "",
	"g[1.5]/@i":                            "",
	"g[string(@i)='2']/a[1]":               "4",
	"g[a/@t='y']/a[@t='y']":                "2 4",
}

func TestDocument_Values_evaluatesAsXPath1Defines(t *testing.T) {
	for expr, want := range groupValues {
		require.Equal(t, want, strings.Join(read(t, groups, "/r", expr), " "), expr)
	}
}

// newerValues are expressions on the document that XPath 1.0 does not have.
var newerValues = map[string]string{
	"matches(n/g/a, '^[0-9]$')":                             "true",
	"replace(n/g/a/@t, 'x', 'y')":                           "y",
	"replace('2024-03-07', '(\\d+)-(\\d+)-\\d+', '$2/$1')":  "03/2024",
	"lower-case('ŻÓŁW')":                                    "żółw",
	"ends-with(concat(n/g/@i, 'ab'), 'ab')":                 "true",
	"string-join(g/a, '-')":                                 "1-2-3-4-5",
	"concat(lower-case('A'), count(g) + 1, n/g/@i )":        "a33",
	"lower-case(g/a[2]/@t)":                                 "y",
	"string-join(g[1]/a|g/b,',')":                           "1,2,3,2",
	"upper-case(g/a/@t)='X'":                                "true",
	"reverse(g[2]/b/preceding-sibling::a)":                  "5 4",
	"n/g/path()":                                            "/Q{}r[1]/Q{}n[1]/Q{}g[1]",
	"for $a in g/a return $a * 2":                           "2 4 6 8 10",
	"(1)[1]":                                                "1",
	"g[1]/a[.[1] = '2']":                                    "2",
	"count('x')":                                            "1",
	"1 to count(g) + 1":                                     "1 2 3",
	"distinct-values(//@t)":                                 "x y",
	"if (g/a = 5) then 'five' else 'none'":                  "five",
	"g[last()]/a[1] || '!'":                                 "4!",
	"sum(g/a) * 1000000":                                    "15000000",
	"number(lower-case('1')) div 0":                         "Infinity",
	"let $n := max(g/a) return floor($n div 2)":             "2",
	"string-length(upper-case(missing))":                    "0",
	"tokenize('a b  c')":                                    "a b c",
	"*:g/@i":                                                "1 2",
	"*[local-name() = 'g'] except g[1]":                     "452",
	"xs:date('2024-03-07') + xs:dayTimeDuration('P1D')":     "2024-03-08",
	"some $a in g/a satisfies $a > 4":                       "true",
	"substring(upper-case('12345'), number('x'))":           "",
	"head(g/a) = 1 and ends-with(g[1]/a[2], '2') and 1 < 2": "true",
}

func TestDocument_Values_evaluatesXPath3(t *testing.T) {
	for expr, want := range newerValues {
		require.Equal(t, want, strings.TrimRight(strings.Join(read(t, groups, "/r", expr), " "), " "), expr)
	}
	require.Equal(t, []string{"false"}, read(t, `<r xmlns="http://d/"><a>x</a></r>`, "/d:r", "matches(a, 'x')"))
	require.Equal(t, []string{"true"}, read(t, `<r xmlns="http://d/"><a>x</a></r>`, "/d:r", "matches(d:*, 'x')"))
}

func TestCompiler_CompileIterator_takesFunctionsOfXPath3(t *testing.T) {
	for iterator, want := range map[string][]string{
		"//g[lower-case(a[1]/@t) = 'x' and path() != '/']":    {"1", "3"},
		"//g[replace(@i, '[13]', 'z') = 'z']":                 {"1", "3"},
		"for $g in //g return $g[matches(@i, '^2$')]":         {"2"},
		"(//g)[ends-with(@i, '2')] | //g[upper-case(@i)='1']": {"1", "2"},
	} {
		c := xmldoc.New(spaces, input.Limits{})
		records, err := c.CompileIterator(iterator)
		require.NoError(t, err)
		number, err := c.CompileReference("@i")
		require.NoError(t, err)
		doc := c.NewDocument()
		require.NoError(t, doc.Load([]byte(groups)))
		found, err := doc.Records(nil, records)
		require.NoError(t, err)
		var got []string
		for _, record := range found {
			values, err := doc.Values(nil, record, number)
			require.NoError(t, err)
			got = append(got, string(values[0].Text))
		}
		require.Equal(t, want, got, iterator)
	}
}

func TestDocument_Values_evaluatesOnceWhatIsTheSameAtEveryRecord(t *testing.T) {
	for _, carml := range []bool{false, true} {
		for expr, want := range map[string]string{
			"/r/g/a":                              "1 2 3 4 5",
			"count(//a)":                          "6",
			"/r/g[@i = 2]/a[last()]/@t":           "x",
			"string-join(//g/@i, '-')":            "1-2-3",
			"(/r/n/g/@i, lower-case('A'))":        "3 a",
			"'x'":                                 "x",
			"for $g in //g return count($g/a)":    "3 2 1",
			"max(//g/@i) || /r/g[1]/string(@i)":   "31",
			"sum((1, 2)[. > 1])":                  "2",
			"//g[position() = last()]/a[1]/@t[1]": "y x",
		} {
			c := xmldoc.New(nil, input.Limits{})
			if carml {
				c.ReadAsCARML()
			}
			iterator, err := c.CompileIterator("//a")
			require.NoError(t, err)
			reference, err := c.CompileReference(expr)
			require.NoError(t, err)
			doc := c.NewDocument()
			for _, text := range []string{groups, strings.ReplaceAll(groups, ">5<", ">five<"), groups} {
				require.NoError(t, doc.Load([]byte(text)))
				records, err := doc.Records(nil, iterator)
				require.NoError(t, err)
				var values []input.Value
				read := func(record input.Node) {
					values, err = doc.Values(values[:0], record, reference)
					require.NoError(t, err)
				}
				for _, record := range records {
					read(record)
					var texts []string
					for _, v := range values {
						texts = append(texts, string(v.Text))
						if expr == "'x'" || strings.HasPrefix(expr, "count") {
							require.Equal(t, record, v.Node, expr)
						}
					}
					require.Equal(t, want == strings.Join(texts, " "), text == groups || !strings.Contains(want, "5"), expr)
				}
				require.Zero(t, testing.AllocsPerRun(10, func() {
					for _, record := range records {
						read(record)
					}
				}), expr)
			}
		}
	}
}

// TestDocument_Values_keepsPartsForOneInput reads inputs whose parts differ, in expressions that depend on the record.
func TestDocument_Values_keepsPartsForOneInput(t *testing.T) {
	for _, carml := range []bool{false, true} {
		for expr, want := range map[string]string{
			"concat(/r/g[1]/a[3], '-', .)":                   "5-1 5-2 5-5",
			"for $a in . return count(//a[. = $a])":          "1 1 2",
			"string(. = //g[2]/a[2])":                        "false false true",
			"let $a := . return string(//g[a = $a][1]/@i)":   "1 1 1",
			"if (//g[2]/a = 5) then concat(., '!') else '?'": "1! 2! 5!",
		} {
			c := xmldoc.New(nil, input.Limits{})
			if carml {
				c.ReadAsCARML()
			}
			iterator, err := c.CompileIterator("/r/g[1]/a")
			require.NoError(t, err)
			reference, err := c.CompileReference(expr)
			require.NoError(t, err)
			doc := c.NewDocument()
			first := strings.Replace(groups, ">3<", ">5<", 1)
			for _, text := range []string{first, strings.NewReplacer(">5<", ">7<", `i="1"`, `i="9"`).Replace(first), first} {
				require.NoError(t, doc.Load([]byte(text)))
				records, err := doc.Records(nil, iterator)
				require.NoError(t, err)
				var texts []string
				for _, record := range records {
					values, err := doc.Values(nil, record, reference)
					require.NoError(t, err)
					texts = append(texts, string(values[0].Text))
				}
				got := strings.Join(texts, " ")
				if text == first {
					require.Equal(t, want, got, expr)
				} else if strings.Contains(expr, "@i") || strings.Contains(expr, "concat") {
					require.NotEqual(t, want, got, expr)
				}
			}
		}
	}
}
