// render.go - renders our Helm chart where there is no helm: Go's own text/template with the few functions of helm's that
// the chart uses.  Reads {"chart": DIR, "values": {...}} on stdin; prints every template, JSON where YAML was asked for.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"text/template"
)

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}

func empty(v any) bool {
	r := reflect.ValueOf(v)
	return !r.IsValid() || r.IsZero() || (r.Kind() == reflect.Slice || r.Kind() == reflect.Map) && r.Len() == 0
}

// block writes the outermost mapping or list as lines, as YAML is written, and what is inside as JSON.
func block(v any) string {
	flow := func(v any) string {
		b, err := json.Marshal(v)
		fail(err)
		return string(b)
	}
	var lines []string
	switch x := v.(type) {
	case map[string]any:
		for k, v := range x {
			lines = append(lines, flow(k)+": "+flow(v))
		}
		sort.Strings(lines)
	case []any:
		for _, v := range x {
			lines = append(lines, "- "+flow(v))
		}
	default:
		return flow(v)
	}
	if len(lines) == 0 {
		return flow(v)
	}
	return strings.Join(lines, "\n")
}

func main() {
	var in struct {
		Chart  string
		Values map[string]any
		Meta   map[string]any
	}
	d := json.NewDecoder(os.Stdin)
	d.UseNumber()
	fail(d.Decode(&in))
	t := template.New("").Option("missingkey=error")
	t.Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var b strings.Builder
			err := t.ExecuteTemplate(&b, name, data)
			return b.String(), err
		},
		"toYaml": func(v any) (string, error) {
			return block(v), nil
		},
		"nindent": func(n int, s string) string {
			pad := strings.Repeat(" ", n)
			return "\n" + pad + strings.ReplaceAll(s, "\n", "\n"+pad)
		},
		"default": func(other, v any) any {
			if empty(v) {
				return other
			}
			return v
		},
		"required": func(text string, v any) (any, error) {
			if empty(v) {
				return nil, fmt.Errorf("%s", text)
			}
			return v, nil
		},
		"quote":      func(v any) string { return fmt.Sprintf("%q", fmt.Sprint(v)) },
		"trunc":      func(n int, s string) string { return s[:min(n, len(s))] },
		"trimSuffix": func(suffix, s string) string { return strings.TrimSuffix(s, suffix) },
	})
	files, err := filepath.Glob(filepath.Join(in.Chart, "templates", "*"))
	fail(err)
	for _, f := range files {
		text, err := os.ReadFile(f)
		fail(err)
		_, err = t.New(filepath.Base(f)).Parse(string(text))
		fail(err)
	}
	data := map[string]any{"Values": in.Values, "Chart": in.Meta,
		"Release": map[string]any{"Name": "davit", "Namespace": "davit", "Service": "Helm"}}
	out := map[string]string{}
	for _, f := range files {
		name := filepath.Base(f)
		if strings.HasPrefix(name, "_") {
			continue
		}
		var b strings.Builder
		fail(t.ExecuteTemplate(&b, name, data))
		out[name] = b.String()
	}
	fail(json.NewEncoder(os.Stdout).Encode(out))
}
