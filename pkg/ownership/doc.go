// Package ownership classifies how the owners of an object's fields change between two versions,
// and defines the record of these changes. Start with [BetweenObjects]. A takeover needs proof: an
// owner lost the path, another owner has it, and the value differs. If the change can be explained
// in any other way, it is [Unclear]. The package sends no requests.
package ownership
