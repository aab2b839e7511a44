" Keeps what vim and neovim remember of a file off the disk when the file lies under passdir's mount.
"
" Source it from ~/.vimrc or ~/.config/nvim/init.vim:
"     source /usr/local/share/passdir/editors/passdir.vim
" The mount is $PASSDIR_MOUNT, else ~/passdir; several are parted by commas:
"     let g:passdir_mounts = '/home/me/passdir,/mnt/secrets'

if exists('g:loaded_passdir')
    finish
endif
let g:loaded_passdir = 1

function! s:Mounts() abort
    let l:mounts = get(g:, 'passdir_mounts', empty($PASSDIR_MOUNT) ? '~/passdir' : $PASSDIR_MOUNT)
    return map(split(l:mounts, ','), 'resolve(fnamemodify(expand(v:val), ":p:h"))')
endfunction

function! s:IsSecret(name) abort
    let l:path = resolve(fnamemodify(a:name, ':p'))
    for l:mount in s:Mounts()
        if stridx(l:path, substitute(l:mount, '/$', '', '') . '/') == 0
            return 1
        endif
    endfor
    return 0
endfunction

function! s:Protect(name) abort
    if !s:IsSecret(a:name)
        return
    endif
    " Of this buffer: no swap file, no undo file.
    setlocal noswapfile noundofile
    " Of the whole session: no backup, no history, registers, marks or searches in viminfo or shada.
    set nobackup nowritebackup backupcopy=yes
    set viminfo=
    if has('nvim')
        set shada=
        set shadafile=NONE
    elseif exists('+viminfofile')
        set viminfofile=NONE
    endif
    " Sessions and views hold names of files, and views may hold folded text.
    setlocal nomodeline
    let b:passdir = 1
endfunction

augroup passdir
    autocmd!
    autocmd BufNewFile,BufReadPre,FileReadPre,BufFilePost * call s:Protect(expand('<afile>'))
    " netrw keeps a history of places.
    autocmd VimEnter * let g:netrw_dirhistmax = 0
augroup END
