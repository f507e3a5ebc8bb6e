// Package ownership classifies how the owners of an object's fields change between two versions,
// and defines the record of these changes. Start with [BetweenObjects]. A takeover needs proof: an
// owner lost the path, another holds it, and the value differs; any other explanation makes it
// [Unclear]. It sends no requests.
package ownership
