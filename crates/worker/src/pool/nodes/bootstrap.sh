{
cache=
if [ -n "${XDG_CACHE_HOME:-}" ]; then cache=$XDG_CACHE_HOME/kgen
elif [ -n "${HOME:-}" ]; then cache=$HOME/.cache/kgen; fi
umask 077
own=
if [ -z "$cache" ] || ! mkdir -p "$cache/nodes" 2>/dev/null || ! [ -w "$cache/nodes" ]; then
  cache=$(mktemp -d) && own=$cache && mkdir "$cache/nodes" || exit 1
fi
here=$cache/nodes/@KEY@
state=have
[ -x "$here/kgen" ] || state=need
printf '\nkgen-node %s %s %s\n' $state "$(uname -s)" "$(uname -m)"
files=$here
if [ $state = need ]; then
  new=$cache/nodes/new.$(uname -n)
  for left in "$new".*; do
    owner=${left#"$new".}
    [ -d "$left" ] && ! kill -0 "${owner%%.*}" 2>/dev/null && rm -rf "$left"
  done
  read -r size && files=$(mktemp -d "$new.$$.XXXXXX") || exit 1
  trap 'rm -rf "$files"' EXIT HUP INT TERM
  head -c "$size" | tar -xf - -C "$files" || exit 1
  trap - EXIT HUP INT TERM
fi
touch "$files"
find "$cache/nodes" -mindepth 1 -maxdepth 1 \( -mtime +30 -o -name 'new.*' -mmin +60 \) -exec rm -rf {} + 2>/dev/null
[ -n "$own" ] || exec "$files/kgen" node "$cache" "$files" "$here"
"$files/kgen" node "$cache" "$files" "$here"
status=$?
rm -rf "$own"
exit $status
}
